package main

type serveCmd struct{}

func (c *serveCmd) Run(co *console) error { return nil }

type demoCmd struct{}

func (c *demoCmd) Run(co *console) error { return nil }
