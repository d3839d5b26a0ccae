package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"jianguo/internal/datadir"
)

type healthCmd struct {
	Data  string `help:"The data directory of the service." default:"${data}" placeholder:"DIR"`
	Ready bool   `help:"Ask whether every part does its work, not only whether the service answers."`
}

// Run asks the service that holds a data directory how it is, and fails if it is not well.
func (c *healthCmd) Run(co *streams) error {
	holder, err := datadir.ReadHolder(c.Data)
	if err != nil {
		return fmt.Errorf("no service has used the data directory: %w", err)
	}
	path := map[bool]string{false: "/healthz", true: "/readyz"}[c.Ready]
	// The file LOCK names the address, and no secret is sent: any certificate will do.
	client := &http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := client.Get(holder.HTTP + path)
	if err != nil {
		return fmt.Errorf("the service does not answer: %w", err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, answer)
	}
	if err == nil {
		_, err = co.out.Write(answer)
	}
	return err
}
