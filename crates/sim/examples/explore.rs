//! tmp
use fairhaul_experiment::*;
use fairhaul_units::*;
use fairhaul_path::queue::Capacity;
use fairhaul_path::impair::LossRule;
fn main(){
  let run=|cc:&str, rule:LossRule, rtt_us:u64, secs:u64, warm:u64, ss:f64|{
    let r=Rate::from_bps(100_000_000_000).unwrap();
    let l=|n:&str,loss|LinkSpec{name:n.into(),rate:r,delay:Span::from_us(rtt_us/2),capacity:Capacity::Unlimited,loss};
    let f=Flow{name:"a".into(),group:"a".into(),role:Role::Measured,controller:fairhaul_cc::Choice::named(cc).unwrap(),recovery:Recovery::Sack,traffic:Traffic::Bulk,start:Start::At(Span::ZERO),rtt:Span::from_us(rtt_us),
      forward:vec![Hop::Link(0)],reverse:vec![Hop::Link(1)],packet:Bytes(1000),initial_window:2.0,initial_ssthresh:ss,max_window:f64::INFINITY,delayed_ack:None,min_rto:Span::from_ms(200),send_buffer:None,receive_buffer:None,overhead:Span::ZERO};
    let s=Scenario{title:"b".into(),source:"".into(),seed:1,duration:Span::from_s(secs),warmup:Span::from_s(warm),links:vec![l("f",Some(rule)),l("r",None)],flows:vec![f]};
    let t=std::time::Instant::now();
    let rec=fairhaul_sim::run(&s,&Default::default()).unwrap();
    let g=rec.grid; let b0=g.bin(Time::ZERO+s.warmup);
    let (mut w,mut tt,mut gp)=(0.0,0.0,0);
    for b in b0..g.len(){let len=(g.start(b+1)-g.start(b)).as_secs(); w+=rec.flows[0][b].cwnd_packets*len; tt+=len; gp+=rec.flows[0][b].goodput_bytes;}
    let n=rec.events.iter().filter(|e|e.kind=="reduction").count(); let to=rec.events.iter().filter(|e|e.kind=="timeout").count();
    (w/tt, gp as f64/960.0/tt*rtt_us as f64*1e-6, n, to, t.elapsed().as_secs_f64(), rec.packets)
  };
  for (cc,ps,c,d) in [("reno",vec![1e-2,1e-3,1e-4],1.225,0.5),("highspeed",vec![1e-3,1e-4,1e-5],0.12,0.835),("scalable",vec![1e-3,1e-4],0.0749,1.0)]{
    for p in ps { let f=c/(p as f64).powf(d); 
      let cyc=1.0/(p*f); // rtts
      let rtt=10_000; let secs=((cyc*60.0*0.01).ceil() as u64).max(5);
      let x=run(cc,LossRule::Every((1.0/p).round() as u64),rtt,secs,secs/4,f);
      let y=run(cc,LossRule::Probability(p),rtt,secs*if p<5e-6 {3} else {20},secs/4,f);
      println!("{cc} {p:e}: formula {f:.1} periodic {:.1} ({:.3}) by goodput {:.1} n{} to{} {:.1}s {}M | bernoulli {:.1} ({:.3}) n{} to{} {:.1}s",x.0,x.0/f,x.1,x.2,x.3,x.4,x.5/1000000,y.0,y.0/f,y.2,y.3,y.4);
    }
  }
}
