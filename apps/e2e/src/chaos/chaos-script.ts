/** The jobs' script: prints lines, reports steps, a claim, an AI call and a summary, and writes a mark at its start. */
export const chaosScript = `
import os, sys, time, muster

job = os.environ["MUSTER_JOB_ID"]
lines = int(os.environ["CHAOS_LINES"])
fail = os.environ["CHAOS_FAIL"]

mark = os.open(os.environ["CHAOS_STARTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
os.write(mark, ("%s %f\\n" % (job, time.time())).encode())
os.close(mark)

def say(first, last):
    for number in range(first, last + 1):
        print("line %d of %s" % (number, job))

with muster.step("first"):
    say(1, lines // 2)
    muster.ai_usage("openai", "gpt-test", 10, 5, 0.001)
with muster.step("second"):
    say(lines // 2 + 1, lines)
    muster.claim("C-" + job, "eob_uploaded")
muster.run_summary(claims=[{"claim_id": "C-" + job, "outcome": "eob_uploaded", "processing_seconds": 1.5}])

until = time.monotonic() + float(os.environ["CHAOS_HOLD"])
while time.monotonic() < until:
    time.sleep(0.05)
if fail == "always":
    sys.exit(7)
if fail:
    try:
        os.close(os.open(fail, os.O_CREAT | os.O_EXCL))
        sys.exit(7)
    except FileExistsError:
        pass
muster.result({"lines": lines})
`;

/** The job's variables; all values are strings. */
export interface JobPlan {
  CHAOS_LINES: string;
  /** Seconds for which the script waits before it ends. */
  CHAOS_HOLD: string;
  /**
   * When the script fails: never if empty, in every attempt if `always`; otherwise, in the attempt that creates the
   * file at this path.
   */
  CHAOS_FAIL: string;
  CHAOS_STARTS: string;
}

export const planNames: (keyof JobPlan)[] = ['CHAOS_LINES', 'CHAOS_HOLD', 'CHAOS_FAIL', 'CHAOS_STARTS'];
