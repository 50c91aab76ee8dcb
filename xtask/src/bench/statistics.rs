//! The little statistics that a noisy machine needs.

/// The median; NaN of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// Half the distance between the quartiles, as a share of the median.
pub fn spread(values: impl IntoIterator<Item = f64>) -> f64 {
    let values = sorted(values);
    (quantile(&values, 0.75) - quantile(&values, 0.25)) / 2.0 / quantile(&values, 0.5)
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Linear between the two nearest values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = share * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wild_value_does_not_move_the_median() {
        assert_eq!(median([1.0, 100.0, 2.0]), 2.0);
        assert_eq!(median([1.0, 2.0]), 1.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn the_spread_is_a_share_of_the_median() {
        assert_eq!(spread([3.0, 3.0, 3.0]), 0.0);
        assert_eq!(spread([8.0, 9.0, 10.0, 11.0, 12.0]), 0.1);
    }
}
