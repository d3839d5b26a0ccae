package verdict

import "math"

// Wilson returns the 95 % score interval of a share n/of (Wilson 1927), 0…1.
func Wilson(n, of int) (low, high float64) {
	if of == 0 {
		return 0, 1
	}
	const z = 1.959964
	all := float64(of)
	p := float64(n) / all
	mid, half := p+z*z/(2*all), z*math.Sqrt(p*(1-p)/all+z*z/(4*all*all))
	return max(0, (mid-half)/(1+z*z/all)), min(1, (mid+half)/(1+z*z/all))
}
