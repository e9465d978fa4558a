"""The two policies of the agency: what they said, and when.

policy:refunds   1 opened, owned by Kim
                 2 03-01 08:00 revision 1: limit-100, no-gifts
                 3 03-05 08:00 revision 2: limit-100 reworded, receipts added
                 4 03-09 08:00 no-gifts withdrawn, by Kim
                 5 03-12 08:00 revision 3: limit-100 withdrawn, limit-50 added
policy:privacy   1 opened, owned by Lee
                 2 03-01 08:30 revision 7: no-names
"""

from __future__ import annotations

from ledger.events import ConstraintWithdrawnAtSource, SourceOpened, SourceRevised
from ledger.values import Published
from tests.projections.case_file.desk import KIM, LEE, LIMIT_50, LIMIT_100, PRIVACY, REFUNDS
from tests.projections.case_file.pen import Pen

LIMIT_100_AGAIN = "Never refund more than 100 EUR a booking"


def tell(pen: Pen) -> None:
    """Say what the sources said."""
    pen.at("03-01 08:00").say(
        REFUNDS,
        KIM,
        SourceOpened(source="policy:refunds", owners=("human:kim",)),
        SourceRevised(
            revision="1",
            by="human:kim",
            added=(
                Published(id="limit-100", text=LIMIT_100),
                Published(id="no-gifts", text="Send no gift cards"),
            ),
        ),
    )
    pen.at("03-01 08:30").say(
        PRIVACY,
        LEE,
        SourceOpened(source="policy:privacy", owners=("human:lee",)),
        SourceRevised(
            revision="7",
            by="human:lee",
            added=(Published(id="no-names", text="Write no names into mails"),),
        ),
    )
    pen.at("03-05 08:00").say(
        REFUNDS,
        KIM,
        SourceRevised(
            revision="2",
            by="human:kim",
            reason="one booking may hold several tickets",
            reworded=(Published(id="limit-100", text=LIMIT_100_AGAIN),),
            added=(Published(id="receipts", text="Ask for a receipt"),),
        ),
    )
    pen.at("03-09 08:00").say(
        REFUNDS,
        KIM,
        ConstraintWithdrawnAtSource(id="no-gifts", by="human:kim", reason="the shop sells them again"),
    )
    pen.at("03-12 08:00").say(
        REFUNDS,
        KIM,
        SourceRevised(
            revision="3",
            by="human:kim",
            reason="too many refunds",
            added=(Published(id="limit-50", text=LIMIT_50),),
            withdrawn=("limit-100",),
        ),
    )
