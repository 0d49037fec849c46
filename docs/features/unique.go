// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run unique.go
// It prints `refused: NOTUNIQUE Job not unique`, then `syncing 7`, once.
package main

import (
	"context"
	"fmt"
	"log"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func sync(ctx context.Context, args ...any) error {
	fmt.Println("syncing", args[0])
	return nil
}

func main() {
	client, err := faktory.Open() // FAKTORY_URL, or localhost:7419
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		job := faktory.NewJob("Sync", 7).SetUniqueFor(600)
		if err := client.Push(job); err != nil {
			fmt.Println("refused:", err)
		}
	}

	manager := worker.NewManager()
	manager.Register("Sync", sync)
	log.Fatal(manager.Run()) // until Ctrl-C
}
