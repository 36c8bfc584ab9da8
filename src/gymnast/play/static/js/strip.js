// The last steps as a small curve: value as a line, rewards as ticks.

export class Strip {
  constructor(canvas, size = 240) {
    this.canvas = canvas;
    this.size = size;
    this.points = [];
    this.last = null;
  }

  add(moment) {
    const key = `${moment.seed}/${moment.episode}/${moment.step}`;
    if (key === this.last) return;
    this.last = key;
    if (moment.step === 0) this.points = [];
    this.points.push({ reward: moment.reward ?? 0, value: moment.value, total: moment.return });
    if (this.points.length > this.size) this.points.shift();
  }

  draw() {
    const { canvas, points } = this;
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const x = (index) => (index / (this.size - 1)) * width;
    const largest = Math.max(1e-9, ...points.map(({ reward }) => Math.abs(reward)));
    pen.fillStyle = style.getPropertyValue("--series-2");
    pen.globalAlpha = 0.55;
    points.forEach(({ reward }, index) => {
      const tall = (Math.abs(reward) / largest) * (height / 2 - 4);
      if (tall > 0) pen.fillRect(x(index), reward > 0 ? height / 2 - tall : height / 2, 1, tall);
    });
    pen.globalAlpha = 1;
    const known = points.map(({ value, total }) => value ?? total);
    const low = Math.min(...known);
    const high = Math.max(...known);
    pen.strokeStyle = style.getPropertyValue("--series-1");
    pen.lineWidth = 1.5;
    pen.beginPath();
    known.forEach((value, index) => {
      const y = high > low ? height - 4 - ((value - low) / (high - low)) * (height - 8) : height / 2;
      if (index === 0) pen.moveTo(x(index), y);
      else pen.lineTo(x(index), y);
    });
    pen.stroke();
  }
}
