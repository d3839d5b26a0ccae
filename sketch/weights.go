package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -3.82, Of: Evidence{
	Conflicts:   -2.52,
	Shared:      1.18,
	Head:        1.29,
	Titled:      -2.22,
	Label:       -4.03,
	Words:       -1.00,
	Subjects:    -1.69,
	Apart:       -0.37,
	AddsFigures: -0.94,
	AddsNames:   -0.25,
	AddsUnknown: -2.40,
	AddsMatter:  -2.26,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -4.88, Of: Evidence{
	SoftMost:  6.50,
	Conflicts: -3.22,
	Agreed:    1.06,
	Overhang:  -4.91,
	Novel:     0.63,
	Subjects:  -1.10,
	Topic:     -0.90,
	Words:     -0.93,
	Label:     -4.22,
	Apart:     -0.62,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.13, Of: Evidence{
	SoftLeast:   -0.88,
	SoftMost:    -2.53,
	Slots:       -1.86,
	Conflicts:   -1.44,
	Missing:     -2.02,
	News:        -0.14,
	Agreed:      0.24,
	Shared:      0.32,
	Resembles:   0.51,
	Known:       11.40,
	AddsFigures: -0.51,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.57, Of: Evidence{
	SoftLeast: -1.58,
	SoftMost:  5.92,
	Slots:     2.68,
	Conflicts: -3.22,
	Missing:   -2.66,
	News:      -0.14,
	Agreed:    0.75,
	Shared:    1.08,
	Resembles: 0.14,
}}
