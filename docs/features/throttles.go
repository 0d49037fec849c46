// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run throttles.go
// It prints `end 0` to `end 9`, and no more than two of them run at a time.
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
	fmt.Println("begin", args[0])
	time.Sleep(time.Second)
	fmt.Println("end", args[0])
	return nil
}

func main() {
	client, err := faktory.Open() // FAKTORY_URL, or localhost:7419
	if err != nil {
		log.Fatal(err)
	}
	for number := 0; number < 10; number++ {
		job := faktory.NewJob("Greet", number)
		job.Queue = "greetings"
		if err := client.Push(job); err != nil {
			log.Fatal(err)
		}
	}

	manager := worker.NewManager()
	manager.Concurrency = 10
	manager.ProcessStrictPriorityQueues("greetings")
	manager.Register("Greet", greet)
	log.Fatal(manager.Run()) // until Ctrl-C
}
