// go-beanstalk, driven command by command.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

type driven struct {
	conn  *beanstalk.Conn
	tubes map[string]bool
}

func main() {
	d := &driven{}
	if err := d.connect(); err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		answer, err := d.do(strings.Split(lines.Text(), "\t"))
		if err != nil {
			answer = []string{"error " + err.Error()}
		}
		fmt.Println(strings.Join(answer, "\t"))
	}
}

// HOST:PORT, unix:PATH, or tls:HOST:PORT.
func dial(url string) (*beanstalk.Conn, error) {
	if path, isUnix := strings.CutPrefix(url, "unix:"); isUnix {
		return beanstalk.Dial("unix", path)
	}
	address, isTLS := strings.CutPrefix(url, "tls:")
	if !isTLS {
		return beanstalk.Dial("tcp", address)
	}
	conn, err := tls.Dial("tcp", address, nil)
	if err != nil {
		return nil, err
	}
	return beanstalk.NewConn(conn), nil
}

func (d *driven) connect() error {
	conn, err := dial(os.Getenv("BEANSTALKD_URL"))
	if err != nil {
		return err
	}
	d.conn, d.tubes = conn, map[string]bool{"default": true}
	return nil
}

func (d *driven) do(words []string) ([]string, error) {
	ok := []string{"ok"}
	switch words[0] {
	case "connect":
		return ok, d.connect()
	case "put":
		return d.put(words[1:])
	case "watch":
		d.tubes[words[1]] = true
		return ok, nil
	case "ignore":
		delete(d.tubes, words[1])
		return ok, nil
	case "reserve":
		return d.reserve(seconds(words[1]))
	case "delete":
		return ok, d.conn.Delete(number(words[1]))
	case "release":
		return ok, d.conn.Release(number(words[1]), uint32(number(words[2])), seconds(words[3]))
	case "bury":
		return ok, d.conn.Bury(number(words[1]), uint32(number(words[2])))
	case "touch":
		return ok, d.conn.Touch(number(words[1]))
	case "kick":
		_, err := beanstalk.NewTube(d.conn, words[1]).Kick(int(number(words[2])))
		return ok, err
	case "pause":
		return ok, beanstalk.NewTube(d.conn, words[1]).Pause(seconds(words[2]))
	case "stats":
		return stats(d.conn.Stats())
	case "stats-tube":
		return stats(beanstalk.NewTube(d.conn, words[1]).Stats())
	case "stats-job":
		return stats(d.conn.StatsJob(number(words[1])))
	case "tubes":
		names, err := d.conn.ListTubes()
		return append([]string{"tubes"}, names...), err
	}
	return nil, errors.New("no such command")
}

func (d *driven) put(words []string) ([]string, error) {
	body, err := hex.DecodeString(words[4])
	if err != nil {
		return nil, err
	}
	tube := beanstalk.NewTube(d.conn, words[0])
	id, err := tube.Put(body, uint32(number(words[1])), seconds(words[2]), seconds(words[3]))
	return []string{"id", fmt.Sprint(id)}, err
}

func (d *driven) reserve(timeout time.Duration) ([]string, error) {
	names := []string{}
	for name := range d.tubes {
		names = append(names, name)
	}
	id, body, err := beanstalk.NewTubeSet(d.conn, names...).Reserve(timeout)
	if errors.Is(err, beanstalk.ErrTimeout) {
		return []string{"none"}, nil
	}
	return []string{"job", fmt.Sprint(id), hex.EncodeToString(body)}, err
}

func stats(values map[string]string, err error) ([]string, error) {
	answer := []string{"stats"}
	for name, value := range values {
		answer = append(answer, name+"="+value)
	}
	return answer, err
}

func number(word string) uint64 {
	value, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func seconds(word string) time.Duration {
	return time.Duration(number(word)) * time.Second
}
