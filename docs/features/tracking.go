// In a folder with this file alone:
//   go mod init example
//   go get github.com/contribsys/faktory_worker_go@v1.7.0
//   go run tracking.go
// It prints some lines, the last of which are `working 50 writing` and `success 50 writing`.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func report(ctx context.Context, args ...any) error {
	help := worker.HelperFor(ctx)
	if err := help.TrackProgress(10, "reading", nil); err != nil {
		return err
	}
	time.Sleep(time.Second)
	until := time.Now().Add(time.Hour) // the job may run for so long from now on
	if err := help.TrackProgress(50, "writing", &until); err != nil {
		return err
	}
	time.Sleep(time.Second)
	return nil
}

// Any client may ask, for as long as it likes.
func watch(client *faktory.Client, jid string) {
	last := ""
	for range time.Tick(100 * time.Millisecond) {
		track, err := client.TrackGet(jid)
		if err != nil {
			log.Fatal(err)
		}
		if now := fmt.Sprint(track.State, " ", track.Percent, " ", track.Description); now != last {
			fmt.Println(now)
			last = now
		}
	}
}

func main() {
	client, err := faktory.Open() // FAKTORY_URL, or localhost:7419
	if err != nil {
		log.Fatal(err)
	}
	job := faktory.NewJob("Report", 1)
	job.SetCustom("track", 1)
	if err := client.Push(job); err != nil {
		log.Fatal(err)
	}
	go watch(client, job.Jid)

	manager := worker.NewManager()
	manager.Register("Report", report)
	log.Fatal(manager.Run()) // until Ctrl-C
}
