// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run batches.go
// It prints `Import [0]`, `Import [1]` and `Import [2]` in any order, then `Report [7]`, and then
// `Done [7]`.
package main

import (
	"context"
	"fmt"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func main() {
	client, err := faktory.Open()
	if err != nil {
		panic(err)
	}
	batch := faktory.NewBatch(client)
	batch.Description = "import of May"
	batch.Complete = faktory.NewJob("Report", 7)
	batch.Success = faktory.NewJob("Done", 7)
	err = batch.Jobs(func() error {
		for part := 0; part < 3; part++ {
			if err := batch.Push(faktory.NewJob("Import", part)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		panic(err)
	}

	workers := worker.NewManager()
	say := func(ctx context.Context, args ...interface{}) error {
		fmt.Println(worker.HelperFor(ctx).JobType(), args)
		return nil
	}
	workers.Register("Import", say)
	workers.Register("Report", say)
	workers.Register("Done", say)
	workers.Run()
}
