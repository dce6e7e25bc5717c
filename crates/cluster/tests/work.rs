//! Work items: each is done once, by anybody, and all processes have all results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use palisade_cluster::{free_addresses, run, work};
use palisade_machine::Alone;

use crate::together::{comes_and_goes, peers};

#[test]
fn each_item_once_and_all_results_everywhere() {
    const ITEMS: usize = 40;
    for count in [1, 2, 3] {
        let addresses = free_addresses(count).unwrap();
        let times: Arc<Vec<AtomicUsize>> = Arc::new((0..ITEMS).map(|_| 0.into()).collect());
        let start = |me: usize| {
            let peers = peers(&addresses, me, 7);
            let times = Arc::clone(&times);
            let one = move |item: usize| {
                times[item].fetch_add(1, Ordering::Relaxed);
                // Some take longer than others.
                thread::sleep(Duration::from_millis(item as u64 % 3));
                (item * item).to_string()
            };
            let all = move || run(&peers, move |mut net| work(&mut *net, ITEMS, 2, &one));
            thread::spawn(all)
        };
        let handles: Vec<_> = (0..count).map(start).collect();
        let expected: Vec<String> = (0..ITEMS).map(|i| (i * i).to_string()).collect();
        for handle in handles {
            assert_eq!(handle.join().unwrap().unwrap().unwrap(), expected);
        }
        assert!(times.iter().all(|t| t.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn nothing_to_do_and_nobody_else() {
    let text = |item: usize| item.to_string();
    assert_eq!(work(&mut Alone, 0, 4, &text), Ok(Vec::new()));
    assert_eq!(
        work(&mut Alone, 2, 4, &text),
        Ok(vec!["0".into(), "1".into()])
    );
}

/// A process that ends with an item in its hands is missed by all others.
#[test]
fn a_lost_process_is_reported() {
    let addresses = free_addresses(2).unwrap();
    let first = peers(&addresses, 0, 7);
    let slow = |item: usize| {
        thread::sleep(Duration::from_millis(20));
        item.to_string()
    };
    let rest = thread::spawn(move || run(&first, move |mut net| work(&mut *net, 200, 1, &slow)));
    comes_and_goes(&addresses);
    assert!(rest.join().unwrap().unwrap().is_err());
}
