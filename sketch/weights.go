package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -3.38, Of: Evidence{
	Conflicts:   -2.58,
	Shared:      1.09,
	Head:        1.25,
	Titled:      -2.17,
	Label:       -3.88,
	Words:       -1.15,
	Subjects:    -1.40,
	Apart:       -0.37,
	Rest:        -4.48,
	Hang:        -5.23,
	AddsFigures: -0.79,
	AddsNames:   -0.25,
	AddsUnknown: -3.73,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -3.45, Of: Evidence{
	SoftMost:  5.52,
	Conflicts: -1.93,
	News:      -0.11,
	Agreed:    0.99,
	RestMost:  1.24,
	Overhang:  -5.94,
	Novel:     0.56,
	Foreign:   -20.50,
	Subjects:  -1.42,
	Topic:     -0.86,
	Words:     -1.09,
	Label:     -4.30,
	Lead:      -1.76,
	Apart:     -0.58,
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
