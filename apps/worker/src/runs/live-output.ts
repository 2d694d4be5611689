import type { CommandOutputBody } from '@muster/contracts';
import { type Service, serializeBody, classifyStatus } from '../protocol/service';
import { decodeLatin1, type Redactor } from './redactor';

const everyMs = 500;
const shownBytes = 48 * 1024;
/** Number of bytes before the sent part that are read too, so that a secret that starts before that part is found. */
const marginBytes = 64 * 1024;
/** Maximum number of characters that the service accepts. Redaction may make the output longer than `shownBytes`. */
const maxCharacters = 65_536;

interface Printed {
  /** Returns the number of bytes printed so far. */
  total(): number;
  /** Returns the last bytes of the output, as text with one character for each byte (latin1). */
  tail(bytes: number): string;
}

/** Sends the end of the output while code runs, at most twice a second. Returns a function that stops it. */
export function streamOutput(
  printed: Printed,
  redactor: Redactor,
  send: (output: string) => Promise<boolean>,
): () => void {
  let sentBytes = 0;
  let isSending = false;
  const timer = setInterval(() => {
    const total = printed.total();
    if (isSending || total === sentBytes) return;
    sentBytes = total;
    isSending = true;
    send(redactVisiblePart(printed.tail(shownBytes + marginBytes), redactor))
      .then(
        (isAccepted) => isAccepted || clearInterval(timer),
        // After a failure, the output is sent again at the next tick.
        () => (sentBytes = 0),
      )
      .finally(() => (isSending = false));
  }, everyMs);
  return () => clearInterval(timer);
}

/**
 * Returns the end of the output, from the start of a line, without secrets and without a possible beginning of a
 * secret.
 */
function redactVisiblePart(raw: string, redactor: Redactor): string {
  const { spans, heldFrom } = redactor.findSecrets(raw);
  let from = Math.max(0, heldFrom - shownBytes);
  if (from > 0) from = Math.max(from, raw.indexOf('\n', from) + 1);
  const cut = spans.find(({ start, end }) => start < from && end > from);
  return decodeLatin1(redactor.coverSpans(raw, spans, cut?.end ?? from, heldFrom))
    .replaceAll('\0', '\u{FFFD}')
    .slice(-maxCharacters);
}

/** Sends a command's output so far. Returns false if the service accepts no more of it. */
export async function sendOutput(
  service: Service,
  { agentId, commandId, output }: { agentId: string; commandId: string; output: string },
): Promise<boolean> {
  const text = serializeBody<CommandOutputBody>({ output });
  const path = `/api/agents/${agentId}/commands/${commandId}/output`;
  const { status } = await service.callService({ method: 'POST', path, text });
  return classifyStatus(status) !== 'refused';
}
