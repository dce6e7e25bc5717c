//! The formatter's laws and its taste.
#![allow(missing_docs)]

use palisade_frontend::pal::format;

#[test]
fn the_house_style() {
    let ugly = "\n\n// a\nshared x=0 , a[2]={1,-1};   // one\nshared yy in 0..3=*; // two\n\n\n\nthread t[*]{ local r=-1;if(x==1&&!r){x=- -r;}else r++;\n\n\nL:while(*){}\n do{ x = x +\n 1; fence? ; fence(ss);} while(x!=  self);\nchoose { x=1; } or {x=choose(0 ..3);}\n for(r=0;r<3;r++)skip;\n /* b */ crit : skip ; /* c */ a[ r%2 ]=*; r=cas(x,0,1)?x:3*2; { // d\n skip; } }\nnever t#1@crit&&\n t#2 . r>0; // e";
    let pretty = format(ugly).unwrap();
    insta::assert_snapshot!(pretty);
    assert_eq!(format(&pretty).unwrap(), pretty);
}
