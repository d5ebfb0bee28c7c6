// Browsers start no worker from file://. There, the search runs in a hidden frame, which takes and sends the same
// messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.early = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      const script = frame.contentDocument.createElement("script");
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      script.src = new URL(address, location.href);
      script.onload = () => {
        this.inside = inside;
        this.early.forEach(data => this.postMessage(data));
      };
      frame.contentDocument.body.appendChild(script);
    }
    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new MessageEvent("message", { data }));
      else this.early.push(data);
    }
    terminate() {}
  };
}
