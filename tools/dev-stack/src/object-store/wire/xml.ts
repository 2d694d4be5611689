/** `[name, text]` or `[name, children]`. Undefined children are omitted. */
export type XmlNode = readonly [name: string, content: string | number | boolean | readonly (XmlNode | undefined)[]];

export function renderXml([name, content]: XmlNode): string {
  const namespace = name === 'Error' ? '' : ' xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}${namespace}>${renderContent(content)}</${name}>`;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function renderContent(content: XmlNode[1]): string {
  if (typeof content !== 'object') return escapeText(String(content));
  return content.map((node) => (node ? `<${node[0]}>${renderContent(node[1])}</${node[0]}>` : '')).join('');
}

/** Escapes control characters as numeric references, as S3 does: they are legal in keys but not in XML. */
function escapeText(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[&<>"\u0000-\u0008\u000b-\u001f\u007f\ufffe\uffff]/g, (character) => {
    const entity = Object.keys(ENTITIES).find((name) => ENTITIES[name] === character);
    return entity ? `&${entity};` : `&#x${character.charCodeAt(0).toString(16)};`;
  });
}
