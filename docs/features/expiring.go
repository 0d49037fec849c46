// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run expiring.go
// It prints `hello in time`, and not `hello too late`.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func greet(ctx context.Context, args ...any) error {
	fmt.Println("hello", args[0])
	return nil
}

func push(client *faktory.Client, word string, expiresIn time.Duration) {
	job := faktory.NewJob("Greet", word)
	job.SetExpiresIn(expiresIn)
	if err := client.Push(job); err != nil {
		log.Fatal(err)
	}
}

func main() {
	client, err := faktory.Open() // FAKTORY_URL, or localhost:7419
	if err != nil {
		log.Fatal(err)
	}
	push(client, "too late", time.Second)
	push(client, "in time", 10*time.Minute)
	time.Sleep(2 * time.Second)

	manager := worker.NewManager()
	manager.Register("Greet", greet)
	log.Fatal(manager.Run()) // until Ctrl-C
}
