//! *Layout*: places for the nodes and arrows of a graph, in layers from top to
//! bottom (the method of Sugiyama, Tagawa and Toda, 1981, in its simplest form):
//!
//! 1. arrows that close a cycle are turned round for the time being;
//! 2. each node gets the layer after its last predecessor;
//! 3. each arrow becomes a chain of *vertices*, one per layer it crosses, the
//!    middle one as wide as the arrow's text, so that texts never overlap;
//! 4. layers are ordered by the mean position of their neighbours;
//! 5. vertices move towards their neighbours, keeping order and distance.
//!
//! Departure: an arrow's text takes up a layer of its own, so every arrow spans
//! two layers at least and self-loops need no special case.

use crate::graph::Graph;

/// Sizes of the things to be placed, in the units of the picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Metrics {
    /// Width of one character.
    pub char_width: f64,
    /// Height of a layer.
    pub layer_height: f64,
    /// Room around a text, and between vertices.
    pub gap: f64,
}

/// A point of the picture.
pub(crate) type Point = (f64, f64);

/// A placed arrow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PlacedArrow {
    /// The points it passes, from its tail to its head.
    pub points: Vec<Point>,
    /// The middle of its text.
    pub label: Point,
}

/// A placed graph.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Layout {
    /// Middle of each node.
    pub nodes: Vec<Point>,
    /// Each arrow.
    pub arrows: Vec<PlacedArrow>,
    /// Width of the whole.
    pub width: f64,
    /// Height of the whole.
    pub height: f64,
}

/// Sweeps over the layers; more change little.
const SWEEPS: usize = 12;

/// Places a graph.
pub(crate) fn layout(graph: &Graph, metrics: Metrics) -> Layout {
    let mut draft = Draft::new(graph, metrics);
    draft.order();
    draft.align();
    draft.finish(graph)
}

/// A vertex of the layered graph: a node, an arrow's text, or a bend.
#[derive(Clone, Debug)]
struct Vertex {
    layer: usize,
    width: f64,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// A graph on its way to a layout.
struct Draft {
    metrics: Metrics,
    vertices: Vec<Vertex>,
    /// Vertices of each layer from left to right.
    layers: Vec<Vec<usize>>,
    /// Per arrow: its vertices between tail and head, and which holds the text.
    chains: Vec<(Vec<usize>, usize)>,
}

impl Draft {
    fn new(graph: &Graph, metrics: Metrics) -> Self {
        let reversed = back_arrows(graph);
        let ranks = ranks(graph, &reversed);
        let mut draft = Self {
            metrics,
            vertices: Vec::new(),
            layers: Vec::new(),
            chains: Vec::new(),
        };
        for (node, rank) in graph.nodes.iter().zip(&ranks) {
            draft.add_vertex(2 * rank, draft.text_width(&node.label));
        }
        for (arrow, &turned) in graph.arrows.iter().zip(&reversed) {
            let (top, bottom) = if turned {
                (arrow.to, arrow.from)
            } else {
                (arrow.from, arrow.to)
            };
            let text_width = draft.text_width(&arrow.label);
            draft.add_chain(top, bottom, text_width, turned);
        }
        draft
    }

    fn text_width(&self, text: &str) -> f64 {
        crate::wrap::width(text) as f64 * self.metrics.char_width + self.metrics.gap
    }

    fn add_vertex(&mut self, layer: usize, width: f64) -> usize {
        let vertex = self.vertices.len();
        self.vertices.push(Vertex {
            layer,
            width,
            x: 0.0,
            above: Vec::new(),
            below: Vec::new(),
        });
        if self.layers.len() <= layer {
            self.layers.resize(layer + 1, Vec::new());
        }
        self.layers[layer].push(vertex);
        vertex
    }

    fn join(&mut self, upper: usize, lower: usize) {
        self.vertices[upper].below.push(lower);
        self.vertices[lower].above.push(upper);
    }

    /// One vertex per layer strictly between the ends; for an arrow within one
    /// layer (a self-loop) one in the layer below.
    fn add_chain(&mut self, top: usize, bottom: usize, text_width: f64, turned: bool) {
        let first = self.vertices[top].layer + 1;
        let last = self.vertices[bottom].layer.max(first + 1);
        let text_layer = usize::midpoint(first, last - 1);
        let mut chain = Vec::new();
        let mut text = 0;
        let mut upper = top;
        for layer in first..last {
            let width = if layer == text_layer {
                text = chain.len();
                text_width
            } else {
                self.metrics.gap
            };
            let vertex = self.add_vertex(layer, width);
            self.join(upper, vertex);
            chain.push(vertex);
            upper = vertex;
        }
        if self.vertices[bottom].layer == last {
            self.join(upper, bottom);
        }
        if turned {
            chain.reverse();
            text = chain.len() - 1 - text;
        }
        self.chains.push((chain, text));
    }

    /// Step 4: orders each layer by the mean position of the neighbours, down
    /// and up by turns.
    fn order(&mut self) {
        let mut position = vec![0.0; self.vertices.len()];
        let renumber = |layer: &[usize], position: &mut [f64]| {
            for (place, &vertex) in layer.iter().enumerate() {
                position[vertex] = place as f64;
            }
        };
        for layer in &self.layers {
            renumber(layer, &mut position);
        }
        for sweep in 0..SWEEPS {
            let downward = sweep % 2 == 0;
            for index in sweep_order(self.layers.len(), downward) {
                let mut layer = std::mem::take(&mut self.layers[index]);
                let mean = |vertex: usize| {
                    let neighbours = self.neighbours(vertex, downward);
                    mean(neighbours.iter().map(|&n| position[n])).unwrap_or(position[vertex])
                };
                let mut keyed: Vec<(f64, usize)> = layer.iter().map(|&v| (mean(v), v)).collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                layer.clear();
                layer.extend(keyed.into_iter().map(|(_, vertex)| vertex));
                renumber(&layer, &mut position);
                self.layers[index] = layer;
            }
        }
    }

    fn neighbours(&self, vertex: usize, above: bool) -> &[usize] {
        if above {
            &self.vertices[vertex].above
        } else {
            &self.vertices[vertex].below
        }
    }

    /// Step 5.
    fn align(&mut self) {
        for index in 0..self.layers.len() {
            let wished: Vec<f64> = vec![0.0; self.layers[index].len()];
            self.settle(index, &wished);
        }
        for sweep in 0..SWEEPS {
            let downward = sweep % 2 == 0;
            for index in sweep_order(self.layers.len(), downward) {
                let wished: Vec<f64> = self.layers[index]
                    .iter()
                    .map(|&v| {
                        let neighbours = self.neighbours(v, downward);
                        mean(neighbours.iter().map(|&n| self.vertices[n].x))
                            .unwrap_or(self.vertices[v].x)
                    })
                    .collect();
                self.settle(index, &wished);
            }
        }
    }

    /// Moves the vertices of a layer as near to the wished places as order and
    /// distance allow: the mean of pushing rightward and pushing leftward (both
    /// keep the distances, hence so does their mean).
    fn settle(&mut self, index: usize, wished: &[f64]) {
        let layer = &self.layers[index];
        let apart = |a: usize, b: usize| {
            f64::midpoint(self.vertices[a].width, self.vertices[b].width) + self.metrics.gap
        };
        let mut right = wished.to_vec();
        for i in 1..layer.len() {
            right[i] = right[i].max(right[i - 1] + apart(layer[i - 1], layer[i]));
        }
        let mut left = wished.to_vec();
        for i in (1..layer.len()).rev() {
            left[i - 1] = left[i - 1].min(left[i] - apart(layer[i - 1], layer[i]));
        }
        let layer = layer.clone();
        for (i, vertex) in layer.into_iter().enumerate() {
            self.vertices[vertex].x = f64::midpoint(left[i], right[i]);
        }
    }

    fn finish(mut self, graph: &Graph) -> Layout {
        let half = |v: &Vertex| v.width / 2.0 + self.metrics.gap;
        let left = self.vertices.iter().map(|v| v.x - half(v));
        let left = left.fold(f64::INFINITY, f64::min);
        let right = self.vertices.iter().map(|v| v.x + half(v));
        let right = right.fold(f64::NEG_INFINITY, f64::max);
        for vertex in &mut self.vertices {
            vertex.x -= left;
        }
        let at = |vertex: usize| -> Point {
            let Vertex { layer, x, .. } = self.vertices[vertex];
            (x, (layer as f64 + 0.5) * self.metrics.layer_height)
        };
        let arrows = graph
            .arrows
            .iter()
            .zip(&self.chains)
            .map(|(arrow, (chain, text))| {
                let mut points = vec![at(arrow.from)];
                points.extend(chain.iter().map(|&v| at(v)));
                points.push(at(arrow.to));
                PlacedArrow {
                    points,
                    label: at(chain[*text]),
                }
            })
            .collect();
        Layout {
            nodes: (0..graph.nodes.len()).map(at).collect(),
            arrows,
            width: if graph.nodes.is_empty() {
                0.0
            } else {
                right - left
            },
            height: self.layers.len() as f64 * self.metrics.layer_height,
        }
    }
}

fn sweep_order(layers: usize, downward: bool) -> Vec<usize> {
    if downward {
        (0..layers).collect()
    } else {
        (0..layers).rev().collect()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0_u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// Which arrows close a cycle in a depth-first search from the nodes in order.
fn back_arrows(graph: &Graph) -> Vec<bool> {
    let mut outgoing = vec![Vec::new(); graph.nodes.len()];
    for (index, arrow) in graph.arrows.iter().enumerate() {
        outgoing[arrow.from].push(index);
    }
    let mut back = vec![false; graph.arrows.len()];
    // 0 new, 1 on the path, 2 done
    let mut colour = vec![0_u8; graph.nodes.len()];
    for root in 0..graph.nodes.len() {
        if colour[root] != 0 {
            continue;
        }
        colour[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((node, next)) = path.last_mut() {
            let Some(&arrow) = outgoing[*node].get(*next) else {
                colour[*node] = 2;
                path.pop();
                continue;
            };
            *next += 1;
            let to = graph.arrows[arrow].to;
            match colour[to] {
                0 => {
                    colour[to] = 1;
                    path.push((to, 0));
                }
                1 => back[arrow] = true,
                _ => {}
            }
        }
    }
    back
}

/// Longest distance from a source over the arrows as turned.
fn ranks(graph: &Graph, reversed: &[bool]) -> Vec<usize> {
    let ends = |index: usize| {
        let arrow = &graph.arrows[index];
        if reversed[index] {
            (arrow.to, arrow.from)
        } else {
            (arrow.from, arrow.to)
        }
    };
    let proper: Vec<(usize, usize)> = (0..graph.arrows.len())
        .map(ends)
        .filter(|(a, b)| a != b)
        .collect();
    let mut below = vec![Vec::new(); graph.nodes.len()];
    let mut waiting = vec![0_usize; graph.nodes.len()];
    for &(from, to) in &proper {
        below[from].push(to);
        waiting[to] += 1;
    }
    let mut rank = vec![0; graph.nodes.len()];
    let mut ready: Vec<usize> = (0..graph.nodes.len())
        .filter(|&n| waiting[n] == 0)
        .collect();
    while let Some(node) = ready.pop() {
        for &to in &below[node] {
            rank[to] = rank[to].max(rank[node] + 1);
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.push(to);
            }
        }
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Arrow, Node, NodeKind};
    use proptest::prelude::*;

    const METRICS: Metrics = Metrics {
        char_width: 8.0,
        layer_height: 40.0,
        gap: 12.0,
    };

    fn graph(nodes: usize, arrows: &[(usize, usize)]) -> Graph {
        Graph {
            name: "g".into(),
            nodes: (0..nodes)
                .map(|n| Node {
                    label: n.to_string(),
                    kind: NodeKind::Inner,
                    is_labelled: false,
                })
                .collect(),
            arrows: arrows
                .iter()
                .map(|&(from, to)| Arrow {
                    from,
                    to,
                    label: "step".into(),
                    kind: crate::graph::ArrowKind::Local,
                    is_taken: false,
                })
                .collect(),
        }
    }

    #[test]
    fn arrows_point_down_but_for_loops() {
        let placed = layout(&graph(3, &[(0, 1), (1, 2), (2, 0)]), METRICS);
        assert!(placed.nodes[0].1 < placed.nodes[1].1);
        assert!(placed.nodes[1].1 < placed.nodes[2].1);
        assert_eq!(placed.arrows[2].points.first(), placed.nodes.get(2));
        assert_eq!(placed.arrows[2].points.last(), placed.nodes.first());
    }

    proptest! {
        /// Nodes and texts of one layer never overlap, everything lies inside
        /// the picture, and arrows join their own nodes.
        #[test]
        fn nothing_overlaps(
            arrows in proptest::collection::vec((0_usize..8, 0_usize..8), 0..20)
        ) {
            let graph = graph(8, &arrows);
            let placed = layout(&graph, METRICS);
            let mut boxes: Vec<(f64, f64, f64)> = Vec::new();
            for (node, &(x, y)) in graph.nodes.iter().zip(&placed.nodes) {
                boxes.push((x, y, node.label.len() as f64 * METRICS.char_width));
            }
            for (arrow, at) in graph.arrows.iter().zip(&placed.arrows) {
                boxes.push((at.label.0, at.label.1, arrow.label.len() as f64 * METRICS.char_width));
                prop_assert_eq!(at.points.first(), placed.nodes.get(arrow.from));
                prop_assert_eq!(at.points.last(), placed.nodes.get(arrow.to));
            }
            for (i, a) in boxes.iter().enumerate() {
                prop_assert!(a.0 - a.2 / 2.0 >= 0.0 && a.0 + a.2 / 2.0 <= placed.width);
                prop_assert!(a.1 >= 0.0 && a.1 <= placed.height);
                for b in &boxes[..i] {
                    let same_layer = (a.1 - b.1).abs() < 1.0;
                    let apart = (a.0 - b.0).abs() - f64::midpoint(a.2, b.2);
                    prop_assert!(!same_layer || apart > 0.0, "{:?} and {:?}", a, b);
                }
            }
        }
    }
}
