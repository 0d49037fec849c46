// In a folder with this file alone:
//   go mod init example
//   go get github.com/beanstalkd/go-beanstalk@v0.2.0
//   go run beanstalk.go
package main

import (
	"fmt"
	"log"
	"time"

	"github.com/beanstalkd/go-beanstalk"
)

func main() {
	conn, err := beanstalk.Dial("tcp", "127.0.0.1:11300")
	if err != nil {
		log.Fatal(err)
	}
	tube := beanstalk.NewTube(conn, "mail")
	if _, err := tube.Put([]byte("world"), 0, 0, time.Minute); err != nil {
		log.Fatal(err)
	}

	id, body, err := beanstalk.NewTubeSet(conn, "mail").Reserve(10 * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("hello", string(body))
	if err := conn.Delete(id); err != nil {
		log.Fatal(err)
	}
}
