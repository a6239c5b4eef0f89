//! The clock, probed where it matters: one cycle earlier blocked, at the cycle free. And what a DPU refuses.

use limbwise_upmem::{Counts, Direction, Dpu, DpuFault, Issue, Preset, Trap, assemble};

fn issues(text: &str, tasklets: usize) -> (Vec<Issue>, Counts) {
    let mut all = Vec::new();
    let mut dpu = Dpu::new(Preset::v1b(), 0);
    let counts = dpu
        .run_with_observer(&assemble(text).expect("a program"), tasklets, |issue| all.push(issue))
        .expect("no fault");
    (all, counts)
}

/// Cycles at which a tasklet issues.
fn cycles(all: &[Issue], tasklet: usize) -> Vec<u64> {
    all.iter().filter(|i| i.tasklet == tasklet).map(|i| i.cycle).collect()
}

#[test]
fn a_tasklet_issues_every_eleventh_cycle_at_most() {
    let (all, counts) = issues("nop\nnop\nstop", 1);
    assert_eq!(cycles(&all, 0), [0, 11, 22]);
    assert_eq!((counts.slots, counts.cycles), (3, 33));
}

#[test]
fn eleven_tasklets_fill_the_pipeline_and_more_share_it() {
    for tasklets in 1..=16 {
        let (all, counts) = issues(&format!("{}stop", "nop\n".repeat(99)), tasklets);
        let tasklets = tasklets as u64;
        assert_eq!(counts.slots, 100 * tasklets);
        assert!(all.windows(2).all(|w| w[0].cycle < w[1].cycle), "one instruction a cycle");
        assert_eq!(all.last().unwrap().cycle, 99 * tasklets.max(11) + tasklets - 1, "{tasklets} tasklets");
    }
}

#[test]
fn two_registers_of_one_bank_cost_a_cycle() {
    let (all, counts) = issues("add r0, r1, r3\nadd r0, r1, r2\nstop", 2);
    // The second tasklet waits for the first one's second read.
    assert_eq!((cycles(&all, 0), cycles(&all, 1)), (vec![0, 12, 23], vec![2, 14, 25]));
    assert_eq!(counts.hazards, 2);
}

#[test]
fn a_transfer_blocks_its_tasklet_until_the_cycle_it_ends() {
    // 8 bytes: 77 + 4 cycles from the issue, 61 + 4 back.
    let (all, counts) = issues("ldma zero, zero, 0\nsdma zero, zero, 0\nstop", 1);
    assert_eq!(cycles(&all, 0), [0, 81, 81 + 65]);
    assert_eq!((counts.transfers, counts.bytes), ([1, 1], [8, 8]));
    let (all, _) = issues("ldma zero, zero, 255\nstop", 1);
    assert_eq!(cycles(&all, 0), [0, 77 + 1024]);
    assert_eq!(Preset::v1a().transfer_cycles(Direction::ToMram, 2048), 61 + 1024);
}

#[test]
fn the_engine_takes_one_transfer_at_a_time_in_order_while_others_compute() {
    // Tasklet 2 jumps over the transfer.
    let text = "sub zero, id, 2, eq, free\nldma zero, zero, 0\nfree: nop\nnop\nnop\nstop";
    let (all, _) = issues(text, 3);
    assert_eq!(cycles(&all, 2), [2, 13, 24, 35, 46]);
    let ends = [11 + 81, 11 + 2 * 81];
    assert_eq!(cycles(&all, 0)[..3], [0, 11, ends[0]]);
    assert_eq!(cycles(&all, 1)[..3], [1, 12, ends[1]]);
}

#[test]
fn a_mutex_lets_one_in_and_the_next_at_its_release() {
    let text = "in: acquire zero, 7, nz, in\nnop\nrelease zero, 7\nstop";
    let (all, _) = issues(text, 2);
    assert_eq!(cycles(&all, 0), [0, 11, 22, 33]);
    // Tries at 1 and 12, is blocked at both, and at 23, a cycle behind the release, is in.
    let entered: Vec<u64> = all.iter().filter(|i| i.tasklet == 1 && i.instruction == 1).map(|i| i.cycle).collect();
    assert_eq!((cycles(&all, 1)[..3].to_vec(), entered), (vec![1, 12, 23], vec![34]));
}

#[test]
fn a_sleeping_tasklet_takes_no_slots_and_wakes_when_resumed() {
    let text = "sub zero, id, 0, eq, waker\nstop\nstop\nwaker: nop\nagain: resume zero, 1, nz, again\nstop";
    let (all, _) = issues(text, 2);
    assert_eq!(cycles(&all, 1), [1, 12, 33]); // eleven cycles behind what woke it, and its turn then
    assert_eq!(cycles(&all, 0), [0, 11, 22, 34]);
}

fn fault(text: &str, tasklets: usize) -> DpuFault {
    let mut dpu = Dpu::new(Preset::v1b(), 5);
    dpu.patience = 1000;
    dpu.run(&assemble(text).expect("a program"), tasklets).expect_err("a fault")
}

#[test]
fn faults_name_dpu_tasklet_instruction_and_address() {
    let cases = [
        ("move r0, 63488\nlw r1, r0, 0", "instruction 1, address 0xf800: WRAM ends at 0xf800"),
        ("move r0, 63488\nsw r0, -4, r1\nsb r0, 0, r1", "instruction 2, address 0xf800: WRAM ends at 0xf800"),
        ("lw r0, zero, 2", "instruction 0, address 0x2: wanted a multiple of 4"),
        ("ld r0, zero, 4", "instruction 0, address 0x4: wanted a multiple of 8"),
        ("sh zero, 1, r0", "instruction 0, address 0x1: wanted a multiple of 2"),
        ("ldma zero, one, 0", "instruction 0, address 0x1: wanted a multiple of 8"),
        ("move r0, 4\nsdma r0, zero, 0", "instruction 1, address 0x4: wanted a multiple of 8"),
        (
            "move r0, 0x01000000\nldma r0, zero, 255",
            "instruction 1, address 0x0: a DMA transfer has at most 2048 bytes, got 2056",
        ),
        ("move r0, 0x3bffff8\nldma zero, r0, 1", "instruction 1, address 0x3bffff8: MRAM ends at 0x3c00000"),
        ("move r0, 63480\nldma r0, zero, 1", "instruction 1, address 0xf7f8: WRAM ends at 0xf800"),
        ("nop", "instruction 1, address 0x1: the program, or the instruction memory, ends at 0x1"),
        ("move r0, 77\njump r0", "instruction 77, address 0x4d: the program, or the instruction memory, ends at 0x2"),
        ("again: jump again", "instruction 0, address 0x0: no end after 1000 instructions"),
    ];
    for (text, wanted) in cases {
        assert_eq!(fault(text, 1).to_string(), format!("DPU 5, tasklet 0, {wanted}"), "{text}");
    }
    let late = fault("sub zero, id, 3, neq, out\nlw r0, one, 0\nout: stop", 4);
    assert_eq!((late.tasklet, late.instruction, late.trap), (3, 1, Trap::Unaligned { wanted: 4 }));
}

#[test]
fn chips_have_their_limits() {
    for (preset, longest, most) in [(Preset::v1b(), 3968, 16), (Preset::v1a(), 4096, 24)] {
        let run = |length: usize, tasklets| {
            let program = assemble(&format!("stop\n{}", "nop\n".repeat(length - 1))).unwrap();
            Dpu::new(preset.clone(), 0).run(&program, tasklets)
        };
        assert!(run(longest, most).is_ok());
        let long = run(longest + 1, 1).unwrap_err();
        assert_eq!(long.trap, Trap::Instructions { limit: u32::try_from(longest).unwrap() });
        let many = run(1, most + 1).unwrap_err();
        assert_eq!(many.trap, Trap::Tasklets { limit: u32::try_from(most).unwrap() });
        assert_eq!(
            many.to_string(),
            format!("DPU 0, tasklet 0, instruction 0, address {:#x}: wanted 1 to {most} tasklets", most + 1)
        );
    }
    assert_eq!(Preset::from_name("V1B"), Some(Preset::v1b()));
    let mut dpu = Dpu::new(Preset::v1b(), 1);
    assert_eq!(dpu.write_mram(60 << 20, &[1]).unwrap_err().trap, Trap::Mram { limit: 60 << 20 });
}
