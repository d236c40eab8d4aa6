//! A series of cells of which few bins have one: a number per bin, and the cells behind each other.

/// One cell per bin that has been opened; of all others nothing is stored but a number.
#[derive(Clone, Debug)]
pub(super) struct SparseSeries<T> {
    /// Of each bin, the place of its cell, from 1; 0 where it has none.
    places: Box<[u32]>,
    cells: Vec<T>,
}

impl<T: Default> SparseSeries<T> {
    pub(super) fn new(bins: usize) -> SparseSeries<T> {
        assert!(u32::try_from(bins).is_ok(), "a series has fewer than 2^32 bins");
        SparseSeries { places: vec![0; bins].into(), cells: Vec::new() }
    }

    /// The cell of a bin, empty where nothing has opened it.
    pub(super) fn open(&mut self, bin: usize) -> &mut T {
        let place = &mut self.places[bin];
        if *place == 0 {
            self.cells.push(T::default());
            *place = self.cells.len() as u32;
        }
        &mut self.cells[*place as usize - 1]
    }

    /// The cell of a bin, if something has opened it.
    pub(super) fn get(&self, bin: usize) -> Option<&T> {
        self.cells.get((self.places[bin] as usize).wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_opened_bins_have_a_cell() {
        let mut series = SparseSeries::<u64>::new(5);
        *series.open(3) += 2;
        *series.open(1) += 7;
        *series.open(3) += 2;
        let cells: Vec<_> = (0..5).map(|bin| series.get(bin).copied()).collect();
        assert_eq!(cells, [None, Some(7), None, Some(4), None]);
        assert_eq!(series.cells.len(), 2);
    }
}
