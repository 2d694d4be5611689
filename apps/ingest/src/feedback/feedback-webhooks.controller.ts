import { createHash } from 'node:crypto';
import { Controller, Inject, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { anyone, Endpoint, SentHeader } from '@muster/access';
import { AppError, FeedbackWebhookAnswer, type TrackerName } from '@muster/contracts';
import { Database } from '@muster/database';
import {
  hasValidSignature,
  type Reference,
  readCodehostReferences,
  readTasktrackerReferences,
  receiveTrackerWebhook,
  WebhookSecretsConfig,
} from '@muster/feedback';
import { parseJsonBody, Unparsed, UnparsedBody } from '@muster/platform';

/**
 * Receives the webhooks of the trackers. Checks the signature first, then the type of the event, and then finds the
 * work items that the event is about.
 */
@ApiTags('Feedback')
@Controller('/api/webhooks')
export class FeedbackWebhooksController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(WebhookSecretsConfig) private readonly secrets: WebhookSecretsConfig,
  ) {}

  @Post('/codehost/feedback')
  @ApiHeader({ name: 'X-Hub-Signature-256', required: true, schema: { type: 'string' } })
  @ApiHeader({ name: 'X-GitHub-Event', required: false, schema: { type: 'string' } })
  @ApiHeader({ name: 'X-GitHub-Delivery', required: false, schema: { type: 'string' } })
  @Endpoint({
    summary: 'Receive a webhook from GitHub',
    description:
      'Accepts events of issues and pull requests. X-Hub-Signature-256 is sha256=<hex HMAC-SHA256 of the raw body>. ' +
      'The webhook only triggers a synchronization; the changes are read from the tracker.',
    access: anyone,
    answer: FeedbackWebhookAnswer,
    status: 202,
    errors: ['unauthenticated', 'payload_too_large'],
    unparsed: true,
  })
  async codehost(
    @Unparsed() { bytes }: UnparsedBody,
    @SentHeader('x-hub-signature-256') signature?: string,
    @SentHeader('x-github-event') event?: string,
    @SentHeader('x-github-delivery') deliveryId?: string,
  ): Promise<FeedbackWebhookAnswer> {
    const [, hex] = /^sha256=(.*)$/.exec(signature ?? '') ?? [];
    requireValidSignature(hasValidSignature(this.secrets.codehostWebhookSecret, hex, bytes));
    const id = deliveryId && deliveryId.length <= 200 ? deliveryId : undefined;
    return this.receiveWebhook('codehost', bytes, { id, read: (payload) => readCodehostReferences(event, payload) });
  }

  @Post('/tasktracker/feedback')
  @ApiHeader({ name: 'X-Signature', required: true, schema: { type: 'string' } })
  @Endpoint({
    summary: 'Receive a webhook from ClickUp',
    description:
      'Accepts events of tasks. X-Signature is the hex HMAC-SHA256 of the raw body. The webhook only triggers a ' +
      'synchronization; the changes are read from the tracker.',
    access: anyone,
    answer: FeedbackWebhookAnswer,
    status: 202,
    errors: ['unauthenticated', 'payload_too_large'],
    unparsed: true,
  })
  async tasktracker(
    @Unparsed() { bytes }: UnparsedBody,
    @SentHeader('x-signature') signature?: string,
  ): Promise<FeedbackWebhookAnswer> {
    requireValidSignature(hasValidSignature(this.secrets.tasktrackerWebhookSecret, signature, bytes));
    return this.receiveWebhook('tasktracker', bytes, { read: readTasktrackerReferences });
  }

  private async receiveWebhook(
    tracker: TrackerName,
    bytes: Buffer,
    { id, read }: { id?: string; read: (payload: unknown) => Reference[] | null },
  ): Promise<FeedbackWebhookAnswer> {
    const references = read(await parseJsonBody(extractJson(bytes), { halfPairs: 'replace' }));
    if (!references) return { accepted: false, reason: 'unsupported_event' };
    const deliveryId = id ?? createHash('sha256').update(bytes).digest('hex');
    return receiveTrackerWebhook(this.database, { tracker, deliveryId, byContent: id === undefined, references });
  }
}

/** GitHub's default is to send a form whose field `payload` contains the JSON. */
function extractJson(bytes: Buffer): Buffer {
  if (bytes.toString('latin1', 0, 8) !== 'payload=') return bytes;
  return Buffer.from(new URLSearchParams(bytes.toString('utf8')).get('payload')!);
}

function requireValidSignature(isRight: boolean): void {
  if (!isRight)
    throw new AppError('unauthenticated', {
      detail:
        'The signature of the request is missing or wrong. Sign the unchanged body with the secret of this webhook.',
    });
}
