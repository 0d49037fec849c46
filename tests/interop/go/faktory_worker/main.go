// faktory_worker_go and its client: `push` or `work`.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	faktory "github.com/contribsys/faktory/client"
	worker "github.com/contribsys/faktory_worker_go"
)

func main() {
	if os.Args[1] == "push" {
		push()
	} else {
		work()
	}
}

func push() {
	var client *faktory.Client
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<23)
	for lines.Scan() {
		var err error
		if client == nil {
			client, err = faktory.Open()
		}
		if err == nil {
			err = pushLine(client, lines.Bytes())
		}
		if err != nil {
			client = nil
			fmt.Println("error", err)
			continue
		}
		fmt.Println("ok")
	}
}

func pushLine(client *faktory.Client, line []byte) error {
	if line[0] == '{' {
		var job faktory.Job
		if err := decode(line, &job); err != nil {
			return err
		}
		return client.Push(&job)
	}
	var jobs []*faktory.Job
	if err := decode(line, &jobs); err != nil {
		return err
	}
	refused, err := client.PushBulk(jobs)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("refused: %v", refused)
	}
	return err
}

// Numbers stay as they are written.
func decode(line []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	return decoder.Decode(value)
}

type run struct {
	Jobtype string         `json:"jobtype"`
	Jid     string         `json:"jid"`
	Args    []any          `json:"args"`
	Custom  map[string]any `json:"custom"`
}

func say(ctx context.Context, jobtype string, args []any) {
	helper := worker.HelperFor(ctx)
	custom := map[string]any{}
	for _, name := range []string{"trace", "encoding"} {
		if value, ok := helper.Custom(name); ok {
			custom[name] = value
		}
	}
	line, _ := json.Marshal(run{jobtype, helper.Jid(), args, custom})
	os.Stdout.Write(append(line, '\n'))
}

func record(ctx context.Context, args ...any) error {
	say(ctx, worker.HelperFor(ctx).JobType(), args)
	return nil
}

func fail(ctx context.Context, args ...any) error {
	say(ctx, "Fail", args)
	return errors.New("no luck")
}

func slow(ctx context.Context, args ...any) error {
	say(ctx, "Slow", args)
	seconds, err := strconv.ParseFloat(fmt.Sprint(args[0]), 64)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	say(ctx, "Slept", args)
	return nil
}

func work() {
	manager := worker.NewManager()
	concurrency, err := strconv.Atoi(os.Getenv("INTEROP_CONCURRENCY"))
	if err != nil {
		panic(err)
	}
	manager.Concurrency = concurrency
	manager.Labels = []string{"interop", "tried"}
	manager.ProcessStrictPriorityQueues(strings.Split(os.Getenv("INTEROP_QUEUES"), ",")...)
	manager.Register("Record", record)
	manager.Register("beanstalk", record)
	manager.Register("Fail", fail)
	manager.Register("Slow", slow)
	panic(manager.Run())
}
