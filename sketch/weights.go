package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -3.85, Of: Evidence{
	Conflicts:   -1.91,
	Shared:      1.12,
	Head:        1.53,
	Titled:      -1.99,
	Label:       -3.69,
	Words:       -1.05,
	Subjects:    -1.82,
	Lead:        -1.07,
	Apart:       -0.38,
	Grown:       1.07,
	Rest:        -6.14,
	Hang:        -6.14,
	AddsMost:    -10.52,
	AddsFigures: -0.63,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -3.61, Of: Evidence{
	SoftMost:  5.71,
	Conflicts: -1.92,
	News:      -0.09,
	Agreed:    0.94,
	RestMost:  1.19,
	Overhang:  -5.72,
	Novel:     0.57,
	Foreign:   -19.96,
	Subjects:  -1.42,
	Topic:     -0.85,
	Words:     -1.13,
	Label:     -4.53,
	Lead:      -1.76,
	Apart:     -0.58,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -7.89, Of: Evidence{
	SoftLeast:   -1.92,
	SoftMost:    0.88,
	Slots:       -1.09,
	Conflicts:   -1.70,
	Missing:     -2.72,
	News:        -0.12,
	Agreed:      0.24,
	Shared:      0.35,
	Resembles:   1.87,
	Known:       8.68,
	AddsFigures: -0.35,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.49, Of: Evidence{
	SoftLeast: -1.48,
	SoftMost:  5.82,
	Slots:     2.45,
	Conflicts: -3.15,
	Missing:   -2.61,
	News:      -0.15,
	Agreed:    0.75,
	Shared:    1.07,
	Resembles: 0.06,
}}
