#!/usr/bin/env bash
# Runs a command in a small root of another release of Debian, which is made when it is first asked
# for: `in_release.sh RELEASE COMMAND...`. The checkout is /millrace there, with a build folder of
# its own. All is kept in build/releases/RELEASE, so that the next run installs and compiles only
# what is new. Mounts and processes end with the command: they are in namespaces of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly RELEASE=$1 HOME_OF_ALL=$PWD/build/releases/$1
shift

refuse() {
  printf 'in_release: %s\n' "$*" >&2
  exit 2
}

[[ $RELEASE =~ ^[a-z]+$ ]] || refuse "not the name of a release of Debian: $RELEASE"
[ "$(id -u)" = 0 ] || refuse "a root of $RELEASE needs root"
command -v mmdebstrap >/dev/null || refuse "a root of $RELEASE needs the package mmdebstrap"
unshare --mount --pid --fork true 2>/dev/null ||
  refuse "a root of $RELEASE needs mounts of its own, which this machine does not permit"

# A root that was only half made is not taken for one.
if [ ! -e "$HOME_OF_ALL/root" ]; then
  rm -rf "$HOME_OF_ALL/new"
  mkdir -p "$HOME_OF_ALL/build"
  mmdebstrap --mode=root --variant=minbase --include=ca-certificates,git \
    "$RELEASE" "$HOME_OF_ALL/new" >&2 || refuse "no root of $RELEASE can be made: see above"
  mkdir "$HOME_OF_ALL/new/millrace"
  mv "$HOME_OF_ALL/new" "$HOME_OF_ALL/root"
fi
# The network's names are those of today, `localhost` among them.
cp -L /etc/resolv.conf /etc/hosts "$HOME_OF_ALL/root/etc"

readonly INSIDE='
set -e
home=$1
shift
mount --bind "$home/root" "$home/root" # buildah wants a root that is a mount
mount --bind "$PWD" "$home/root/millrace"
mount --bind "$home/build" "$home/root/millrace/build"
mount --rbind /dev "$home/root/dev"
mount -t proc proc "$home/root/proc"
exec chroot "$home/root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  CI="${CI:-}" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0=/millrace \
  bash -c "cd /millrace && exec \"\$@\"" in_release "$@"
'
exec unshare --mount --pid --fork --kill-child --propagation private \
  bash -c "$INSIDE" in_release "$HOME_OF_ALL" "$@"
