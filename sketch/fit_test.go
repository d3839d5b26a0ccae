//go:build quality

package sketch_test

import "math"

// ridge is the weight of the squared weights, in pairs.
const ridge = 2

// fit is logistic regression with a ridge on standardised columns, by Newton's
// method; the first weight is the bias, the others are for the columns as given.
func fit(x [][]float64, y, weight []float64) []float64 {
	d := len(x[0])
	mean, dev := make([]float64, d), make([]float64, d)
	for j := range d {
		for i := range x {
			mean[j] += x[i][j] / float64(len(x))
		}
		for i := range x {
			dev[j] += (x[i][j] - mean[j]) * (x[i][j] - mean[j]) / float64(len(x))
		}
		dev[j] = math.Sqrt(dev[j]) + 1e-9
	}
	w := make([]float64, d+1)
	for range 40 {
		system := make([][]float64, d+1)
		for a := range system {
			system[a] = make([]float64, d+2)
		}
		z := make([]float64, d+1)
		z[0] = 1
		for i := range x {
			s := w[0]
			for j := range d {
				z[j+1] = (x[i][j] - mean[j]) / dev[j]
				s += w[j+1] * z[j+1]
			}
			p := 1 / (1 + math.Exp(-s))
			for a := range z {
				for b := range z {
					system[a][b] += weight[i] * p * (1 - p) * z[a] * z[b]
				}
				system[a][d+1] += weight[i] * (y[i] - p) * z[a]
			}
		}
		for a := 1; a <= d; a++ {
			system[a][a] += ridge
			system[a][d+1] -= ridge * w[a]
		}
		system[0][0] += 1e-9
		most := 0.
		for a, step := range solve(system) {
			step = max(-3, min(3, step))
			w[a] += step
			most = max(most, math.Abs(step))
		}
		if most < 1e-4 {
			break
		}
	}
	out := append([]float64{w[0]}, w[1:]...)
	for j := range d {
		out[j+1] = w[j+1] / dev[j]
		out[0] -= w[j+1] * mean[j] / dev[j]
	}
	return out
}

// solve is Gauss-Jordan elimination of an augmented matrix.
func solve(m [][]float64) []float64 {
	n := len(m)
	for a := range n {
		p := a
		for r := a + 1; r < n; r++ {
			if math.Abs(m[r][a]) > math.Abs(m[p][a]) {
				p = r
			}
		}
		m[a], m[p] = m[p], m[a]
		for r := range n {
			if r == a {
				continue
			}
			f := m[r][a] / m[a][a]
			for c := a; c <= n; c++ {
				m[r][c] -= f * m[a][c]
			}
		}
	}
	x := make([]float64, n)
	for a := range n {
		x[a] = m[a][n] / m[a][a]
	}
	return x
}
