// Package headline says which texts are read with their headline: what cuts a text into words and what compares it must
// agree on that, since words are offsets into what is compared.
package headline

// shortBody is the length of a normal form, in bytes (a Han character is three), below which it says too little alone.
const shortBody = 180

// Joins reports whether a body is read with its headline before it. Both are normal forms.
func Joins(title, body string) bool { return len(body) < shortBody && title != "" && title != body }
