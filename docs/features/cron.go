// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run cron.go
// It prints `sweeping` every five seconds, and a report in the night.
package main

import (
	"context"
	"fmt"
	"log"

	worker "github.com/contribsys/faktory_worker_go"
)

func sweep(ctx context.Context, args ...any) error {
	fmt.Println("sweeping")
	return nil
}

func report(ctx context.Context, args ...any) error {
	fmt.Println("reporting", args[0], "as", args[1].(map[string]any)["format"])
	return nil
}

func main() {
	manager := worker.NewManager() // FAKTORY_URL, or localhost:7419
	manager.ProcessStrictPriorityQueues("default", "low")
	manager.Register("Sweep", sweep)
	manager.Register("Report", report)
	log.Fatal(manager.Run()) // until Ctrl-C
}
