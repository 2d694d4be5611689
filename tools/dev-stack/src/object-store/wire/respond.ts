import type { ServerResponse } from 'node:http';
import type { S3Error } from '../errors';
import type { S3Request } from './request';
import { renderXml, type XmlNode } from './xml';

export function sendXml(response: ServerResponse, root: XmlNode, status = 200): void {
  const body = Buffer.from(renderXml(root));
  response.writeHead(status, { 'content-type': 'application/xml', 'content-length': body.length });
  response.end(body);
}

export function sendEmpty(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  // A 204 must not have a length. A 200 without one would be sent chunked.
  response.writeHead(status, status === 204 ? headers : { 'content-length': 0, ...headers });
  response.end();
}

export function sendError(
  response: ServerResponse,
  { error, id, request }: { error: S3Error; id: string; request?: Pick<S3Request, 'method' | 'target'> },
): void {
  if (request?.method === 'HEAD') {
    response.writeHead(error.status, { 'content-type': 'application/xml' });
    response.end();
    return;
  }
  const details: XmlNode[] = [
    ['Code', error.code],
    ['Message', error.message],
    ...error.details,
    ['Resource', request?.target.rawPath ?? ''],
    ['RequestId', id],
  ];
  sendXml(response, ['Error', details], error.status);
}
