import { newId } from '../context/ids';
import { type EndedSpan, setSpanSink } from '../tracing/spans';
import { openPublishSpan } from './message-spans';

describe('openPublishSpan', () => {
  const spans: EndedSpan[] = [];

  beforeAll(() => setSpanSink({ addSpan: (span) => void spans.push(span) }));
  afterAll(() => setSpanSink(undefined));

  it('the trace span of a published message starts when the message was written to the outbox', () => {
    const writtenAt = Date.parse('2026-03-02T09:00:00.000Z');
    const id = writtenAt.toString(16).padStart(12, '0').replace(/^.{8}/, '$&-') + newId().slice(13);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    openPublishSpan({ id, queue: 'dispatch', name: 'dispatch-agent', traceparent } as never).end();
    expect(spans).toMatchObject([
      { name: 'outbox dispatch.dispatch-agent', kind: 'producer', parentId: 'b7ad6b7169203331', startMs: writtenAt },
    ]);
  });
});
