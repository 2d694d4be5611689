import type { Socket } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from './addresses/client-address';
import { type Form, type FormRules, isForm, readForm } from './bodies/form';
import { etagOf } from './etag';
import { unparsedBodyOf } from './http-app';

function parts(context: ExecutionContext) {
  const http = context.switchToHttp();
  return { request: http.getRequest<FastifyRequest>(), reply: http.getResponse<FastifyReply>() };
}

/** What goes out before the body that a handler returns. */
export class ReplyHead {
  constructor(private readonly reply: FastifyReply) {}

  /** Another status than the route's own. */
  status(status: number): void {
    void this.reply.status(status);
  }

  etag(revision: string | number): void {
    void this.reply.header('etag', etagOf(revision));
  }

  headers(headers: Record<string, string>): void {
    void this.reply.headers(headers);
  }

  /** Where the thing that was made can be read. */
  location(path: string): void {
    void this.reply.header('location', path);
  }

  /** The body is a table, to be kept as a file of this name. */
  csvFile(name: string): void {
    void this.reply.header('content-type', 'text/csv; charset=utf-8');
    void this.reply.header('content-disposition', `attachment; filename="${name}"`);
  }

  /** The connection is not kept: one that stays would hold up the end of the process. */
  closeConnection(): void {
    void this.reply.header('connection', 'close');
  }
}

/** A body that comes as a form, read as it comes in, or as JSON, read already. */
export class FormOrJson {
  constructor(private readonly request: FastifyRequest) {}

  get isForm(): boolean {
    return isForm(this.request);
  }

  get json(): unknown {
    return this.request.body;
  }

  readForm<T>(rules: FormRules, read: (chunks: AsyncIterable<Buffer>) => Promise<T>): Promise<Form<T>> {
    return readForm(this.request, rules, read);
  }
}

export const Reply = createParamDecorator((_: unknown, context) => new ReplyHead(parts(context).reply));

/** The body of a route that declares a form. */
export const Given = createParamDecorator((_: unknown, context) => new FormOrJson(parts(context).request));

/** The body of a route that declares `unparsed`: bytes, whose signature is verified before they are read. */
export const Unparsed = createParamDecorator((_: unknown, context) => unparsedBodyOf(parts(context).request));

/** What closes when the client goes away: for answers that wait. */
export const Connection = createParamDecorator((_: unknown, context): Socket => parts(context).request.raw.socket);

/** Who is counted for a request without credentials. */
export const ClientAddress = createParamDecorator((_: unknown, context) => clientAddress(parts(context).request));
