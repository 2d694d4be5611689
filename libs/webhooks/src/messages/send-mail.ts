import { createTransport } from 'nodemailer';

/**
 * What came of sending a message once. Failed: it has certainly not arrived, and is tried again. Refused: it never will.
 * Unclear: it may have arrived, so it is not sent again.
 */
export interface SentMessage {
  outcome: 'delivered' | 'failed' | 'refused' | 'unclear';
  statusCode: number | null;
  error: string | null;
}

export interface Relay {
  url: string;
  from: string;
}

export interface Mail {
  /** Also makes the Message-ID. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

const connectMs = 10_000;
const silenceMs = 20_000;

/** Hands a mail to the operator's relay, which the organization does not name: the guard of addresses is not asked. */
export async function sendMail(relay: Relay | null, { id, to, subject, text, html }: Mail): Promise<SentMessage> {
  if (!relay) {
    return { outcome: 'failed', statusCode: null, error: 'the operator has set up no mail relay (SMTP_URL)' };
  }
  // The relay asks for the message with 354: from there on it may have it, whatever becomes of the connection.
  let isHandedOver = false;
  const hear = ({ tnx }: { tnx?: string }, line: unknown) => {
    if (tnx === 'server' && /^354/.test(String(line))) isHandedOver = true;
  };
  const silent = () => undefined;
  const transport = createTransport({
    url: relay.url,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    dnsTimeout: connectMs,
    transactionLog: true,
    logger: { level: silent, trace: silent, debug: hear, info: hear, warn: silent, error: silent, fatal: silent },
  });
  const host = relay.from.replace(/^.*@/, '').replace(/[^\w.-].*$/, '') || 'muster';
  try {
    const { response } = await transport.sendMail({
      ...{ from: relay.from, to, subject, text, html, messageId: `<${id}@${host}>` },
      headers: { 'Auto-Submitted': 'auto-generated' },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return { outcome: 'delivered', statusCode: Number(response.slice(0, 3)) || 250, error: null };
  } catch (error) {
    return ofFault(error as SmtpFault, isHandedOver);
  } finally {
    transport.close();
  }
}

type SmtpFault = Error & { code?: string; responseCode?: number; response?: string };

/** The relay's address is the operator's: what it answered is shown, and of a connection no more than what it came to. */
function ofFault({ code = 'unknown', responseCode, response }: SmtpFault, isHandedOver: boolean): SentMessage {
  if (code === 'EAUTH') {
    return {
      outcome: 'failed',
      statusCode: responseCode ?? null,
      error: 'the mail relay refused the operator’s sign-in',
    };
  }
  if (responseCode !== undefined) {
    const error = `the mail relay answered: ${response ?? responseCode}`.slice(0, 500);
    return { outcome: responseCode >= 500 ? 'refused' : 'failed', statusCode: responseCode, error };
  }
  if (isHandedOver) {
    return { outcome: 'unclear', statusCode: null, error: `the connection to the mail relay broke (${code})` };
  }
  return { outcome: 'failed', statusCode: null, error: `the mail relay could not be reached (${code})` };
}
