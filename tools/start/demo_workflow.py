import os
import time

import muster

print(f"{os.environ['GREETING']}, Muster!")

with muster.step("Open the portal"):
    time.sleep(0.2)

claims = [("C-1001", "eob_uploaded"), ("C-1002", "no_eob_found")]
for number, (claim, outcome) in enumerate(claims, start=1):
    with muster.step(f"Look up claim {claim}"):
        muster.ai_usage("example", "example-model", input_tokens=900, output_tokens=120, cost_usd=0.0042)
        muster.claim(claim, outcome, npi="1234567893")
        muster.progress(100 * number / len(claims))
    print(f"{claim}: {outcome}")

muster.result({"claims": len(claims), "found": 1})
