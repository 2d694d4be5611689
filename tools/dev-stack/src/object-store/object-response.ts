import { checksumHeader, type Checksum } from './checksums';
import type { ObjectMetadata } from './object-metadata';
import { asHeaderValue } from './request';
import type { XmlNode } from './xml';

export function objectResponseHeaders(
  metadata: ObjectMetadata,
  { withChecksum }: { withChecksum: boolean },
): Record<string, string> {
  return {
    ...Object.fromEntries(metadata.headers),
    'accept-ranges': 'bytes',
    etag: `"${metadata.etag}"`,
    'last-modified': new Date(metadata.lastModified).toUTCString(),
    ...(withChecksum ? checksumResponseHeaders(metadata.checksum) : {}),
  };
}

export function checksumResponseHeaders(checksum: Checksum | undefined): Record<string, string> {
  if (!checksum) return {};
  return { [checksumHeader(checksum.algorithm)]: checksum.value, 'x-amz-checksum-type': checksum.type };
}

export function checksumNodes(checksum: Checksum | undefined): XmlNode[] {
  if (!checksum) return [];
  return [
    [`Checksum${checksum.algorithm}`, checksum.value],
    ['ChecksumType', checksum.type],
  ];
}

/** `response-content-type` and its like. Nobody gets here unsigned, so nobody but the signer chooses them. */
export function responseOverrides(query: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...query]
      .filter(([name]) => name.startsWith('response-'))
      .map(([name, value]) => [name.slice('response-'.length), asHeaderValue(name, value)]),
  );
}
