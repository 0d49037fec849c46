// Keeps the fragment of an address over the login: no server is sent it.
const { hash } = location;
const form = document.querySelector("form");
const login = document.querySelector("a[href*='login?']");
if (hash && form) form.action += encodeURIComponent(hash);
else if (hash && login) location.replace(login.href + hash);
