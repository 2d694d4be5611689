import { createHmac, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Muster, WebhookEndpoint } from '@muster/sdk';
import type { Command } from '../frame/command';
import { explainError, createUsageError } from '../frame/failure';
import { onProcessEnd } from '../parts/interrupts';
import { toSafeLine } from '../output/plain';

const looksMs = 1000;

/**
 * The result of forwarding a delivery: the status of the receiver's response, or the error if there was no response.
 */
interface Forwarded {
  deliveryId: string;
  type: string;
  status: number | null;
  error: string | null;
  durationMs: number;
}

const listen: Command = {
  words: 'webhooks listen',
  args: '<url>',
  summary: 'Forward webhooks to an address on this machine until Ctrl-C (admins only)',
  more:
    'While the command runs, the service has a temporary webhook endpoint whose address is a placeholder. The ' +
    'command reads the deliveries of this endpoint and sends them to the specified address, signed with the printed ' +
    'secret. The service does not need to be able to reach this machine.',
  options: {
    event: {
      type: 'string',
      short: 'e',
      value: 'TYPE',
      multiple: true,
      about: 'Event type to forward, such as job.failed (default all)',
    },
  },
  async runCommand(call) {
    const { terminal } = call;
    const target = parseTargetUrl(call.args[0]!);
    const muster = call.muster();
    const events = call.list('event') as WebhookEndpoint['events'];
    const leave = new AbortController();
    const stop = onProcessEnd(() => leave.abort());
    const { id, secret } = await muster.webhookEndpoints.create({
      url: `https://${randomBytes(8).toString('hex')}.muster-listen.invalid/`,
      events: events.length ? events : ['*'],
      description: `muster webhooks listen on ${hostname()}`,
    });
    try {
      terminal.printResultLine({ endpointId: id, secret, target }, `Forwarding to ${target}, signed with ${secret}`);
      const seen = new Set<string>();
      while (!leave.signal.aborted) {
        for (const delivery of await readNewDeliveries(muster, id, seen)) {
          const forwarded = await forwardDelivery(target, secret, delivery);
          const { type, status, error, durationMs } = forwarded;
          terminal.printResultLine(
            forwarded,
            `${new Date().toISOString().slice(11, 19)} ${toSafeLine(type)} → ${status ?? error} (${durationMs} ms)`,
          );
        }
        await new Promise((resolve) => setTimeout(resolve, looksMs));
      }
    } finally {
      stop();
      await muster.webhookEndpoints.delete(id);
    }
  },
};

export const webhookCommands = [listen];

interface Delivery {
  id: string;
  type: string;
  body: string;
}

/** Reads new deliveries, oldest first. Returns none if the service is unreachable; the next poll tries again. */
async function readNewDeliveries(muster: Muster, endpointId: string, seen: Set<string>): Promise<Delivery[]> {
  const newDeliveries: Delivery[] = [];
  try {
    for await (const { id, type } of muster.webhookEndpoints.deliveries(endpointId, { limit: 100 })) {
      if (seen.has(id)) break;
      const { body } = await muster.webhookEndpoints.delivery(endpointId, id);
      newDeliveries.push({ id, type, body });
    }
  } catch (error) {
    const { status } = explainError(error);
    if (status !== 0 && (status ?? 400) < 500) throw error;
    return [];
  }
  for (const { id } of newDeliveries) seen.add(id);
  return newDeliveries.reverse();
}

async function forwardDelivery(target: string, secret: string, { id, type, body }: Delivery): Promise<Forwarded> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const began = performance.now();
  const createForwardResult = (status: number | null, error: string | null): Forwarded => {
    return { deliveryId: id, type, status, error, durationMs: Math.round(performance.now() - began) };
  };
  try {
    const answer = await fetch(target, {
      method: 'POST',
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      },
      body,
    });
    await answer.body?.cancel();
    return createForwardResult(answer.status, null);
  } catch (error) {
    const { cause, message } = error as { cause?: { code?: string }; message: string };
    return createForwardResult(null, cause?.code ?? message);
  }
}

function parseTargetUrl(text: string): string {
  const url = /^\d+$/.test(text) ? `http://127.0.0.1:${text}/` : text;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw createUsageError(`${text} is not a valid address.`, 'Specify an address such as http://localhost:4000/hooks');
}
