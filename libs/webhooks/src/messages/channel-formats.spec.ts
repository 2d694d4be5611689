import { formatMessageAsMail, formatMessageAsSlack, formatMessageAsTeams } from './channel-formats';
import { getEventLabel, writeMessage } from './write-message';

const link = { text: 'Open the run', url: 'https://muster.example.com/app/runs/1?a=1&b=2' };

function writeTestMessage(workflowName: string, error: string) {
  return writeMessage([{ type: 'job.failed', data: { workflowName, error }, link }], 1);
}

const formatSlackTexts = (name: string, error: string): string[] => {
  const { blocks } = formatMessageAsSlack(writeTestMessage(name, error)) as {
    blocks: { text: { text: string; verbatim: boolean } }[];
  };
  expect(blocks.every(({ text }) => text.verbatim)).toBe(true);
  return blocks[0]!.text.text.split('\n');
};

describe('formats of a notification', () => {
  it('a notification has no control character and no mark that reorders its line', () => {
    const message = writeTestMessage('Claims\u202e\u0000gro.live\u2066 שלום 👩‍⚕️', 'first\r\n\tsecond\u0007\u009b2J');
    const [part] = message.parts;
    expect(part!.title).toBe('Run failed: Claimsgro.live שלום 👩‍⚕️');
    expect(part!.detail).toBe('first second2J');
    expect(message.subject).toBe(part!.title);
    expect(formatMessageAsMail(message, 'Front\u202edesk\r\nX').text).toContain('notification channel Frontdesk X.');
  });

  it('a notification says whether an alert opened or is resolved, with the severity of its rule', () => {
    const data = { rule: 'run_failed', subject: { type: 'workflow', id: '1', name: 'Claims' }, count: 3 };
    const events = [
      { type: 'alert.opened', data, link },
      { type: 'alert.resolved', data, link },
    ] as const;
    const { subject, parts } = writeMessage(events, 2);
    expect(parts.map(({ title }) => title)).toEqual(['Run failed: Claims', 'Resolved: Run failed: Claims']);
    expect(subject).toBe('2 notifications: Run failed, Resolved: Run failed');
    expect(events.map((event) => getEventLabel(event).severity)).toEqual(['error', 'error']);
  });

  it('a notification cuts a long name between two characters, not within one', () => {
    const title = writeTestMessage('🦷'.repeat(400), 'e').parts[0]!.title;
    expect(title.endsWith('🦷…')).toBe(true);
    expect(title).toBe(Buffer.from(title).toString());
    expect(title.length).toBeLessThanOrEqual(300);
  });

  it('a workflow’s name cannot add HTML to a notification e-mail', () => {
    const { html, text } = formatMessageAsMail(
      writeTestMessage('<img src=x onerror="a()">', "</p><a href='x'>"),
      '<b>desk</b>',
    );
    expect(html).toContain('Run failed: &lt;img src=x onerror=&quot;a()&quot;&gt;');
    expect(html).toContain('&lt;/p&gt;&lt;a href=&#39;x&#39;&gt;');
    expect(html).toContain('&lt;b&gt;desk&lt;/b&gt;');
    expect(html).toContain('href="https://muster.example.com/app/runs/1?a=1&amp;b=2"');
    expect(text).toContain('Run failed: <img src=x onerror="a()">');
  });

  it('a workflow’s name cannot add a link, mention, bold text or code to a Slack message', () => {
    const lines = formatSlackTexts(
      '*now* _or_ ~never~ `code`',
      '<!channel> <https://evil.example|Open the run> & https://x',
    );
    expect(lines).toEqual([
      '*Run failed: ∗now∗ ˍorˍ ∼never∼ ˋcodeˋ*',
      '&lt;!channel&gt; &lt;https://evil.example|Open the run&gt; &amp; https://x',
      '<https://muster.example.com/app/runs/1?a=1&amp;b=2|Open the run>',
    ]);
  });

  it('a Slack message keeps an underscore or an asterisk within a word', () => {
    expect(formatSlackTexts('a', 'CLAIM_ID was 3*4')[1]).toBe('CLAIM_ID was 3*4');
  });

  it('a workflow’s name cannot add a link or heading to a Teams message', () => {
    const card = formatMessageAsTeams(writeTestMessage('[here](https://evil.example)', '# <b>*now*</b>')) as any;
    expect(card.attachments[0].content.body.map(({ text }: { text: string }) => text)).toEqual([
      String.raw`Run failed: \[here\]\(https://evil.example\)`,
      String.raw`\# \<b\>\*now\*\</b\>`,
      '[Open the run](https://muster.example.com/app/runs/1?a=1&b=2)',
    ]);
  });
});
