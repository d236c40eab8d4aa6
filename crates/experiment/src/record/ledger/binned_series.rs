//! A series of cells, one per bin.

use fairhaul_units::{Span, Time};

use crate::Grid;

/// One cell per bin. The cell of the last time lies open in `open`, since most times are in the bin of the time before.
#[derive(Clone, Debug)]
pub(super) struct BinnedSeries<T> {
    pub(super) open: T,
    pub(super) from: Time,
    pub(super) to: Time,
    pub(super) bin: usize,
    /// The place of the open cell is empty.
    pub(super) cells: Box<[T]>,
}

impl<T: Clone + Default> BinnedSeries<T> {
    pub(super) fn new(grid: &Grid) -> BinnedSeries<T> {
        let (from, to) = (grid.start(0), grid.start(1));
        BinnedSeries { open: T::default(), from, to, bin: 0, cells: vec![T::default(); grid.len()].into() }
    }

    /// The cell of the bin that holds `time`; `None` from the end of the run on.
    #[inline(always)]
    pub(super) fn at(&mut self, grid: &Grid, time: Time) -> Option<&mut T> {
        if (self.from <= time && time < self.to) || self.switch_bin(grid, time) {
            Some(&mut self.open)
        } else {
            None
        }
    }

    /// Opens the cell of the bin that holds `time`; whether there is one.
    #[inline(never)]
    pub(super) fn switch_bin(&mut self, grid: &Grid, time: Time) -> bool {
        if time >= grid.end {
            return false;
        }
        std::mem::swap(&mut self.open, &mut self.cells[self.bin]);
        self.bin = grid.bin(time);
        std::mem::swap(&mut self.open, &mut self.cells[self.bin]);
        (self.from, self.to) = (grid.start(self.bin), grid.start(self.bin + 1));
        true
    }

    /// Calls `add(cell, part)` for each part of `from..to` that lies in one bin.
    #[inline(always)]
    pub(super) fn split(&mut self, grid: &Grid, from: Time, to: Time, mut add: impl FnMut(&mut T, Span)) {
        if self.from <= from && to <= self.to {
            return add(&mut self.open, to - from);
        }
        let mut from = from;
        while from < to && self.at(grid, from).is_some() {
            let until = self.to.min(to);
            add(&mut self.open, until - from);
            from = until;
        }
    }

    pub(super) fn close(mut self) -> Box<[T]> {
        self.cells[self.bin] = self.open;
        self.cells
    }
}
