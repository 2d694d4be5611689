import type { Socket } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { getClientAddress } from './addresses/client-address';
import { type Form, type FormRules, isFormRequest, parseForm } from './bodies/form';
import { toEtag } from './etag';
import { getUnparsedBody } from './http-app';

function getRequestAndReply(context: ExecutionContext) {
  const http = context.switchToHttp();
  return { request: http.getRequest<FastifyRequest>(), reply: http.getResponse<FastifyReply>() };
}

/** Sets the status and the headers of a response before the body that a handler returns. */
export class ReplyHead {
  constructor(private readonly reply: FastifyReply) {}

  /** Sets another status than the default of the route. */
  setStatus(status: number): void {
    void this.reply.status(status);
  }

  setEtag(revision: string | number): void {
    void this.reply.header('etag', toEtag(revision));
  }

  setHeaders(headers: Record<string, string>): void {
    void this.reply.headers(headers);
  }

  /** Sets the path at which the created resource can be read. */
  setLocation(path: string): void {
    void this.reply.header('location', path);
  }

  /** Declares the body as a CSV file with this name. */
  declareCsvFile(name: string): void {
    void this.reply.header('content-type', 'text/csv; charset=utf-8');
    void this.reply.header('content-disposition', `attachment; filename="${name}"`);
  }

  /** Closes the connection after the response. An open connection would delay the end of the process. */
  closeConnection(): void {
    void this.reply.header('connection', 'close');
  }
}

/** A body that is a form, which is read while it arrives, or JSON, which is already parsed. */
export class FormOrJson {
  constructor(private readonly request: FastifyRequest) {}

  get isForm(): boolean {
    return isFormRequest(this.request);
  }

  get jsonBody(): unknown {
    return this.request.body;
  }

  readForm<T>(rules: FormRules, read: (chunks: AsyncIterable<Buffer>) => Promise<T>): Promise<Form<T>> {
    return parseForm(this.request, rules, read);
  }
}

export const Reply = createParamDecorator((_: unknown, context) => new ReplyHead(getRequestAndReply(context).reply));

/** The body of a route that declares `form`. */
export const Given = createParamDecorator((_: unknown, context) => new FormOrJson(getRequestAndReply(context).request));

/** The body of a route that declares `unparsed`: bytes, whose signature is verified before they are parsed. */
export const Unparsed = createParamDecorator((_: unknown, context) =>
  getUnparsedBody(getRequestAndReply(context).request),
);

/** The socket of the request, which closes when the client disconnects. For responses that wait. */
export const Connection = createParamDecorator(
  (_: unknown, context): Socket => getRequestAndReply(context).request.raw.socket,
);

/** The address under which a request without credentials is counted. */
export const ClientAddress = createParamDecorator((_: unknown, context) =>
  getClientAddress(getRequestAndReply(context).request),
);
