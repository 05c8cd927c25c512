// Package flotilla is the root of the module: it holds no code. See ARCHITECTURE.md for the map.
package flotilla
