package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"jianguo/exposure"
	"jianguo/exposure/importer"
	"jianguo/exposure/wire"
	"jianguo/internal/datadir"
)

type importCmd struct {
	Server string  `help:"The running service, as http://127.0.0.1:8080." placeholder:"URL" xor:"where"`
	Data   string  `help:"The data directory of a running service on this machine." placeholder:"DIR" xor:"where"`
	Token  string  `help:"A token of the role recall, if the service has tokens." placeholder:"TOKEN"`
	Redis  string  `help:"Import from this: redis://HOST:PORT[/DB][?addr=HOST:PORT]." required:"" placeholder:"URL"`
	Key    string  `help:"The key of a user." default:"seen:{user}"`
	Type   string  `help:"What each key is: ${enum}; auto: it is asked." enum:"auto,zset,set,list" default:"auto"`
	Score  string  `help:"What a score of a ZSET is: ${enum}." enum:"auto,seconds,milliseconds,none" default:"auto"`
	Oldest bool    `name:"oldest-first" help:"Lists have their oldest item first, not the newest, as with LPUSH."`
	Kind   string  `help:"What the items are: seen, delivered, or a kind of the policy file." default:"seen"`
	Scene  string  `help:"The scene of the exposures." placeholder:"NAME"`
	Rate   float64 `help:"Exposures a second, at most; 0: no limit."`
	Resume string  `help:"Keep the position in this file, to continue there." placeholder:"FILE"`
	JSON   bool    `help:"Print the summary as JSON."`
}

// Run imports histories and prints what became of them.
func (c *importCmd) Run(co *streams) error {
	url, err := c.server()
	if err != nil {
		return err
	}
	source := &importer.Redis{URL: c.Redis, Key: c.Key, Type: c.Type, Score: c.Score, Oldest: c.Oldest,
		Kind: exposure.EventKind(c.Kind), Newest: wire.MaxItems}
	sum, err := importer.Run(co.ctx, importer.Config{Source: source, Client: &importer.Client{URL: url, Token: c.Token},
		Scene:  c.Scene,
		Resume: c.Resume, Rate: c.Rate, Progress: co.progress.Rate("importing keys"), Logger: co.log})
	if err != nil {
		if c.Resume != "" {
			err = fmt.Errorf("%w (run it again to continue)", err)
		}
		return errors.Join(err, c.print(co, sum))
	}
	return c.print(co, sum)
}

// server is the address of the service's HTTP.
func (c *importCmd) server() (string, error) {
	if c.Data == "" {
		if c.Server == "" {
			return "", errors.New("where to? give --server URL or --data DIR of a running service")
		}
		return c.Server, nil
	}
	lock, err := datadir.Acquire(c.Data, datadir.Holder{Command: "exposure import"})
	var inUse *datadir.InUseError
	if errors.As(err, &inUse) && inUse.Holder.HTTP != "" {
		return inUse.Holder.HTTP, nil
	}
	if err == nil {
		err = errors.Join(fmt.Errorf("no service runs on %s: start it, so that the exposures are kept by its policy",
			c.Data), lock.Close())
	}
	return "", err
}

func (c *importCmd) print(co *streams, s importer.Summary) error {
	if c.JSON {
		return json.NewEncoder(co.out).Encode(s)
	}
	_, err := fmt.Fprintf(co.out, "%d users, %d exposures in %s (%.0f/s): %d imported, %d that the policy would "+
		"forget, %d refused, %d without a time\n",
		s.Users, s.Held, time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond),
		float64(s.Held)/max(s.Seconds, 1e-9), s.Imported, s.Forgotten, s.Refused, s.Untimed)
	return err
}
