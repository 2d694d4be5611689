import { waitFor } from '@muster/testing';
import type { Locator, Page } from 'playwright-core';

export type WayOfUse = 'mouse' | 'keyboard' | 'phone';

const letters = { Agents: 'a', Workflows: 'w', Packs: 'p', Costs: 'c', Feedback: 'f' } as const;

/** Number of presses of Tab after which an element counts as unreachable. */
const mostTabs = 120;

/**
 * Operates a page in one way of use and counts the clicks: each press of a link, a button or an entry of a menu, each
 * choice in a select box, and each shortcut to a page. Entering a text is not a click.
 */
export class Hand {
  clicks = 0;

  constructor(
    private readonly page: Page,
    private readonly way: WayOfUse,
  ) {}

  /** Opens a page of the main navigation. */
  async openPage(name: keyof typeof letters): Promise<void> {
    if (this.way === 'keyboard') {
      this.clicks += 1;
      await this.page.keyboard.press('g');
      await this.page.keyboard.press(letters[name]);
    } else {
      await this.pressElement(this.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }));
    }
    await this.page.getByRole('heading', { level: 1, name }).waitFor();
  }

  async pressElement(element: Locator): Promise<void> {
    this.clicks += 1;
    if (this.way !== 'keyboard') return this.clickElement(element);
    await this.focusElement(element);
    await this.page.keyboard.press('Enter');
  }

  /** Replaces the text of a field. */
  async typeText(field: Locator, text: string): Promise<void> {
    if (this.way === 'keyboard') await this.focusElement(field);
    else await this.clickElement(field);
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.type(text);
  }

  /** Chooses the first option with such a label. */
  async chooseOption(select: Locator, label: RegExp): Promise<void> {
    this.clicks += 1;
    const text = (await select.locator('option').allInnerTexts()).find((each) => label.test(each))!;
    if (this.way !== 'keyboard') return void (await select.selectOption({ label: text }));
    await this.focusElement(select);
    // Types only the first word of the label, because a space opens the list of options.
    await this.page.keyboard.type(text.split(' ')[0]!);
  }

  /** Clicks an element that is not beyond the sides of the window. */
  private async clickElement(element: Locator): Promise<void> {
    const { width: windowWidth } = this.page.viewportSize()!;
    await waitFor(`${element.toString()} to be inside the window`, async () => {
      // Each attempt scrolls again, because the navigation scrolls to the current page while the page loads.
      await element.scrollIntoViewIfNeeded();
      const { x, width } = (await element.boundingBox())!;
      return x >= -1 && x + width <= windowWidth + 1;
    });
    await element.click();
  }

  /** Moves the focus to an element as a user of the keyboard does. */
  private async focusElement(element: Locator): Promise<void> {
    await element.waitFor();
    for (let tabs = 0; tabs < mostTabs; tabs += 1) {
      if (await element.evaluate((node) => node === node.ownerDocument.activeElement)) return;
      const isInMenu = await this.page.evaluate<boolean>(`document.activeElement.closest('[role=menu]') !== null`);
      await this.page.keyboard.press(isInMenu ? 'ArrowDown' : 'Tab');
    }
    throw new Error(`The keyboard does not reach ${element.toString()}.`);
  }
}
