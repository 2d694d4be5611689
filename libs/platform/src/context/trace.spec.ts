import { chooseRequestId, continueTrace } from './trace';

describe('a trace', () => {
  it('a trace continues a traceparent with a new span', () => {
    const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect(continueTrace(parent)).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
    expect(continueTrace(parent)).not.toBe(parent);
  });

  it.each([
    undefined,
    '',
    '00-short-b7ad6b7169203331-01',
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'x'.repeat(10_000),
  ])('a new trace starts for the invalid traceparent %p', (value) =>
    expect(continueTrace(value)).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
  );
});

describe('a request id', () => {
  it.each(['abc', 'A-1_2.3', 'x'.repeat(128)])('the request id %p is accepted', (value) =>
    expect(chooseRequestId(value)).toBe(value),
  );
  it.each([undefined, '', 'a b', 'a\nb', 'x'.repeat(129), '<x>'])('the invalid request id %p is replaced', (value) =>
    expect(chooseRequestId(value)).toMatch(/^[0-9a-f]{24}$/),
  );
});
