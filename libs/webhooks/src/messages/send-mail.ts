import { createTransport } from 'nodemailer';

/**
 * Result of sending a message once. `failed`: it has certainly not arrived and is retried. `refused`: it can never
 * arrive. `unclear`: it may have arrived, so it is not resent.
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
  /** Delivery id; also part of the Message-ID. */
  id: string;
  to: string;
  subject: string;
  text: string;
  html: string;
}

const connectMs = 10_000;
const silenceMs = 20_000;

/** Sends a mail through the operator’s relay, without the guard for outbound calls: no user chose the address. */
export async function sendMail(relay: Relay | null, { id, to, subject, text, html }: Mail): Promise<SentMessage> {
  if (!relay) {
    return { outcome: 'failed', statusCode: null, error: 'no mail relay is configured (SMTP_URL)' };
  }
  // With reply 354, the relay asks for the content of the message. After that, the relay may have received the message
  // even if an error follows.
  let isHandedOver = false;
  const detectHandover = ({ tnx }: { tnx?: string }, line: unknown) => {
    if (tnx === 'server' && /^354/.test(String(line))) isHandedOver = true;
  };
  const failOnSilence = () => undefined;
  const transport = createTransport({
    url: relay.url,
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    dnsTimeout: connectMs,
    transactionLog: true,
    logger: {
      level: failOnSilence,
      trace: failOnSilence,
      debug: detectHandover,
      info: detectHandover,
      warn: failOnSilence,
      error: failOnSilence,
      fatal: failOnSilence,
    },
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
    return toFailedMessage(error as SmtpError, isHandedOver);
  } finally {
    transport.close();
  }
}

type SmtpError = Error & { code?: string; responseCode?: number; response?: string };

/** Describes a failure to users. For connection errors it shows only the code, to hide the address of the relay. */
function toFailedMessage({ code = 'unknown', responseCode, response }: SmtpError, isHandedOver: boolean): SentMessage {
  if (code === 'EAUTH') {
    return {
      outcome: 'failed',
      statusCode: responseCode ?? null,
      error: 'the mail relay rejected the service’s credentials',
    };
  }
  if (responseCode !== undefined) {
    const error = `the mail relay answered: ${response ?? responseCode}`.slice(0, 500);
    return { outcome: responseCode >= 500 ? 'refused' : 'failed', statusCode: responseCode, error };
  }
  if (isHandedOver) {
    return { outcome: 'unclear', statusCode: null, error: `the connection to the mail relay was lost (${code})` };
  }
  return { outcome: 'failed', statusCode: null, error: `the mail relay could not be reached (${code})` };
}
