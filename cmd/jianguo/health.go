package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"jianguo/internal/datadir"
	"jianguo/internal/must"
)

type healthCmd struct {
	Data  string `help:"The data directory of the service." default:"${data}" placeholder:"DIR"`
	Ready bool   `help:"Ask whether every part does its work, not only whether the service answers."`
}

// Run asks the service that holds a data directory how it is, and fails if it is not well.
func (c *healthCmd) Run(co *stdio) error {
	return must.Catch(func() {
		holder, err := datadir.ReadHolder(c.Data)
		must.Dof(err, "no service has used the data directory")
		path := map[bool]string{false: "/healthz", true: "/readyz"}[c.Ready]
		// The file LOCK names the address, and no secret is sent: any certificate will do.
		client := &http.Client{Timeout: 10 * time.Second,
			Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		res, err := client.Get(holder.HTTP + path)
		must.Dof(err, "the service does not answer")
		defer res.Body.Close()
		answer := must.Get(io.ReadAll(res.Body))
		if res.StatusCode != http.StatusOK {
			must.Do(fmt.Errorf("%s: %s", res.Status, answer))
		}
		must.Get(co.out.Write(answer))
	})
}
