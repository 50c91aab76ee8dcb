//! What holds of the detector for any trace.

use proptest::prelude::*;
use refsan_detect::detect;
use refsan_model::{Phase, RuleId, Severity};
use refsan_trace::layout::{Header, event_kind, life, slot_flags};
use refsan_trace::{Module, Site, Slot, Trace};
use zerocopy::FromZeros;

prop_compose! {
    fn any_site()(
        return_address in 0..4_u64,
        count in 1..1000_u64,
        module in 0..3_u32,
        slot in 0..5_u32,
        kind in 0..6_u8,
        life in 0..5_u8,
    ) -> Site {
        Site { return_address, count, module, slot, kind, life }
    }
}

fn module(id: u32) -> Module {
    let slot = |flags| Slot {
        name: format!("f{flags}"),
        calls: 0,
        address: 0,
        flags,
    };
    let slots = [
        0,
        slot_flags::RELEASE,
        slot_flags::READS_ONLY,
        slot_flags::RELEASE | slot_flags::READS_ONLY,
    ];
    Module {
        id,
        role: 1,
        reason: 0,
        bias: 0,
        start: 0,
        end: 1,
        build_id: Vec::new(),
        path: format!("m{id}.so"),
        slots: slots.map(slot).to_vec(),
    }
}

proptest! {
    #[test]
    fn nothing_recorded_is_lost_and_nothing_is_made_up(sites in prop::collection::vec(any_site(), 0..20)) {
        let trace = Trace {
            path: "t.rstrace".into(),
            header: Header::new_zeroed(),
            modules: vec![module(0), module(1)],
            sites,
            threads: Vec::new(),
            events: Vec::new(),
            stacks: Vec::new(),
            python_stacks: Vec::new(),
            damage: Vec::new(),
        };
        let detections = detect(&trace);
        let counted = |kind: &dyn Fn(u8) -> bool| -> u64 {
            trace.sites.iter().filter(|site| kind(site.kind)).map(|site| site.count).sum()
        };
        let calls: u64 = detections
            .iter()
            .filter(|detection| detection.rule != RuleId::AttachDuringFinalization)
            .map(|detection| detection.count)
            .sum();
        prop_assert_eq!(calls, counted(&|kind| kind == event_kind::CALL));
        let attaches: u64 = detections
            .iter()
            .filter(|detection| detection.rule == RuleId::AttachDuringFinalization)
            .map(|detection| detection.count)
            .sum();
        let all = counted(&|kind| (event_kind::ATTACH..=event_kind::ATTACH_NEVER_RETURNED).contains(&kind));
        prop_assert!(attaches <= all && (attaches == 0) == (all == 0));
        for detection in &detections {
            let after = matches!(detection.rule, RuleId::ReleaseAfterFinalization | RuleId::CallAfterFinalization);
            if detection.rule != RuleId::AttachDuringFinalization {
                prop_assert_eq!(after, detection.phase == Phase::Finalized);
            }
            if matches!(detection.rule, RuleId::ReleaseWithoutThreadState | RuleId::ReleaseAfterFinalization) {
                prop_assert_eq!(detection.severity, Severity::Error);
            }
        }
        prop_assert_eq!(life::ALIVE, 1);
    }
}
