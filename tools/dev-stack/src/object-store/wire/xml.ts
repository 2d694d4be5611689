import { S3Error } from '../errors';

/** `[name, text]` or `[name, children]`; an absent child is left out. */
export type XmlNode = readonly [name: string, content: string | number | boolean | readonly (XmlNode | undefined)[]];

export interface XmlElement {
  name: string;
  text: string;
  children: XmlElement[];
}

export function renderXml([name, content]: XmlNode): string {
  const namespace = name === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}${namespace}>${renderContent(content)}</${name}>`;
}

/** Reads the small XML of S3 requests: elements and text. Anything cleverer (a DOCTYPE above all) is MalformedXML. */
export function parseXml(source: string, rootName: string): XmlElement {
  const document: XmlElement = { name: '', text: '', children: [] };
  const open: XmlElement[] = [document];
  const body = source.replace(/^\uFEFF?\s*<\?xml[^<>]*\?>/, '').trim();
  let position = 0;
  for (const token of body.matchAll(
    /<(\/?)([\w.:-]+)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/g,
  )) {
    const [whole, closing, name, attributes, selfClosing, text] = token;
    if (token.index !== position) throw new S3Error('MalformedXML');
    position += whole.length;
    const current = open.at(-1)!;
    if (text !== undefined) {
      current.text += decodeText(text);
    } else if (closing) {
      if (attributes || selfClosing || open.length < 2 || current.name !== name) throw new S3Error('MalformedXML');
      open.pop();
    } else {
      const element: XmlElement = { name: name!, text: '', children: [] };
      current.children.push(element);
      if (!selfClosing) open.push(element);
      if (open.length > MAX_DEPTH) throw new S3Error('MalformedXML');
    }
  }
  const [root, ...others] = document.children;
  if (position !== body.length || open.length > 1 || others.length > 0 || document.text.trim() !== '') {
    throw new S3Error('MalformedXML');
  }
  if (root?.name !== rootName) throw new S3Error('MalformedXML');
  return root;
}

export function childText(element: XmlElement, name: string): string | undefined {
  const found = element.children.filter((child) => child.name === name);
  if (found.length > 1 || found.some((child) => child.children.length > 0)) throw new S3Error('MalformedXML');
  return found[0]?.text;
}

const MAX_DEPTH = 16;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function renderContent(content: XmlNode[1]): string {
  if (typeof content !== 'object') return escapeText(String(content));
  return content.map((node) => (node ? `<${node[0]}>${renderContent(node[1])}</${node[0]}>` : '')).join('');
}

/** Control characters are legal in keys but not in XML; S3 sends them as numeric references, and so do we. */
function escapeText(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[&<>"\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g, (character) => {
    const entity = Object.keys(ENTITIES).find((name) => ENTITIES[name] === character);
    return entity ? `&${entity};` : `&#x${character.charCodeAt(0).toString(16)};`;
  });
}

function decodeText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(/&([^;&]*);?/g, (whole, name: string) => {
    const entity = whole.endsWith(';') ? ENTITIES[name] : undefined;
    if (entity !== undefined) return entity;
    const [, hex, decimal] = /^#(?:x([0-9a-f]{1,6})|([0-9]{1,7}))$/i.exec(name) ?? [];
    const codePoint = hex ? Number.parseInt(hex, 16) : Number(decimal ?? Number.NaN);
    const isScalar = codePoint <= 0x10ffff && !(codePoint >= 0xd800 && codePoint <= 0xdfff);
    if (!whole.endsWith(';') || !isScalar) throw new S3Error('MalformedXML');
    return String.fromCodePoint(codePoint);
  });
}
