import type { CommandOutputBody } from '@muster/contracts';
import { type Service, textOfBody, verdictOf } from '../protocol/service';
import { readable, type Redactor } from './redactor';

const everyMs = 500;
const shownBytes = 48 * 1024;
/** Before what is shown: a secret that lies across its beginning is whole in here, and so is found. */
const marginBytes = 64 * 1024;
/** What the service takes; covered secrets may have made it longer. */
const mostCharacters = 65_536;

interface Printed {
  /** How much it is by now. */
  total(): number;
  /** Its last bytes, one character each. */
  tail(bytes: number): string;
}

/** Tells what code prints while it runs: its end, twice a second at most. Answers what ends the telling. */
export function tellOutput(
  printed: Printed,
  redactor: Redactor,
  tell: (output: string) => Promise<boolean>,
): () => void {
  let told = 0;
  let isTelling = false;
  const timer = setInterval(() => {
    const total = printed.total();
    if (isTelling || total === told) return;
    told = total;
    isTelling = true;
    tell(shown(printed.tail(shownBytes + marginBytes), redactor))
      .then(
        (goesOn) => goesOn || clearInterval(timer),
        // The next one says it too.
        () => (told = 0),
      )
      .finally(() => (isTelling = false));
  }, everyMs);
  return () => clearInterval(timer);
}

/** Whole lines where it is cut, without secrets, and without what may be the beginning of one. */
function shown(raw: string, redactor: Redactor): string {
  const { spans, heldFrom } = redactor.find(raw);
  let from = Math.max(0, heldFrom - shownBytes);
  if (from > 0) from = Math.max(from, raw.indexOf('\n', from) + 1);
  const cut = spans.find(({ start, end }) => start < from && end > from);
  return readable(redactor.cover(raw, spans, cut?.end ?? from, heldFrom))
    .replaceAll('\0', '\u{FFFD}')
    .slice(-mostCharacters);
}

/** Tells the service; false: it wants to hear no more of it. */
export async function sendOutput(
  service: Service,
  { agentId, commandId, output }: { agentId: string; commandId: string; output: string },
): Promise<boolean> {
  const text = textOfBody<CommandOutputBody>({ output });
  const path = `/api/agents/${agentId}/commands/${commandId}/output`;
  const { status } = await service.call({ method: 'POST', path, text });
  return verdictOf(status) !== 'refused';
}
