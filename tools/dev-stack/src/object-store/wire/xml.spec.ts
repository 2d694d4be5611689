import { childText, parseXml, renderXml } from './xml';

it('reads back every character that a key can hold', () => {
  const key = ' <a> & "b" \'c\' \r\n\t\u0001\u007f é 日本 😀 \ufeff ';
  expect(childText(parseXml(renderXml(['Object', [['Key', key]]]), 'Object'), 'Key')).toBe(key);
});

it.each([
  ['nothing', ''],
  ['text alone', 'Delete'],
  ['another root', '<Other/>'],
  ['two roots', '<Delete/><Delete/>'],
  ['text beside the root', '<Delete/>text'],
  ['an element that is not closed', '<Delete><Key></Delete>'],
  ['an end too many', '<Delete></Delete></Delete>'],
  ['a DOCTYPE', '<!DOCTYPE a [<!ENTITY b "c">]><Delete/>'],
  ['an entity of its own', '<Delete>&b;</Delete>'],
  ['a bare ampersand', '<Delete>a & b</Delete>'],
  ['a surrogate', '<Delete>&#xd800;</Delete>'],
  ['a character beyond Unicode', '<Delete>&#x110000;</Delete>'],
  ['a comment', '<Delete><!-- --></Delete>'],
  ['a bottomless pit', '<Delete>' + '<a>'.repeat(1000)],
])('refuses %s as MalformedXML', (_, source) => {
  expect(() => parseXml(source, 'Delete')).toThrow(expect.objectContaining({ code: 'MalformedXML' }));
});
