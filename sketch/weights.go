package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -4.03, Of: Evidence{
	Conflicts:   -2.59,
	Shared:      1.17,
	Head:        1.57,
	Titled:      -2.21,
	Label:       -3.97,
	Words:       -1.17,
	Subjects:    -1.37,
	Apart:       -0.36,
	AddsFigures: -0.90,
	AddsNames:   -0.25,
	AddsUnknown: -1.56,
	AddsMatter:  -2.42,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -4.87, Of: Evidence{
	SoftMost:  6.51,
	Conflicts: -3.22,
	Agreed:    1.06,
	Overhang:  -4.91,
	Novel:     0.62,
	Subjects:  -1.10,
	Topic:     -0.90,
	Words:     -0.93,
	Label:     -4.22,
	Apart:     -0.62,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.34, Of: Evidence{
	SoftLeast:   -1.25,
	SoftMost:    -1.52,
	Slots:       -1.52,
	Conflicts:   -1.54,
	Missing:     -2.24,
	News:        -0.14,
	Agreed:      0.25,
	Shared:      0.33,
	Resembles:   0.94,
	Known:       10.57,
	AddsFigures: -0.45,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.55, Of: Evidence{
	SoftLeast: -1.56,
	SoftMost:  5.89,
	Slots:     2.68,
	Conflicts: -3.21,
	Missing:   -2.65,
	News:      -0.14,
	Agreed:    0.75,
	Shared:    1.08,
	Resembles: 0.12,
}}
