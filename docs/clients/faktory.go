// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run faktory.go
package main

import (
	"context"
	"fmt"
	"log"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func greet(ctx context.Context, args ...any) error {
	fmt.Println("hello", args[0])
	return nil
}

func main() {
	client, err := faktory.Open() // FAKTORY_URL, or localhost:7419
	if err != nil {
		log.Fatal(err)
	}
	if err := client.Push(faktory.NewJob("Greet", "world")); err != nil {
		log.Fatal(err)
	}

	manager := worker.NewManager()
	manager.Register("Greet", greet)
	log.Fatal(manager.Run()) // until Ctrl-C
}
